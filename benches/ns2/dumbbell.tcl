# The networks of ecnlab's benchmark, for ns-2 2.35 (Debian package `ns2`).
#
#   ns dumbbell.tcl net=thesis|1g|10g [flows=N] [time=SECONDS] [from=SECONDS] [seed=N]
#                   [tcp=reno|cubic] [mode=bench|info|count] [sched=Calendar|Heap|Map|Splay] [headers=few|all]
#
# Every flow has a host with its own access link to router R; R - K is the bottleneck; all
# receivers sit on K. Reno with ECN, endless FTP, 1000 bytes on the wire, ACKs 40 bytes,
# window 64, every other TCP parameter as 2.35 has it. Only the R -> K queue is RED: packets
# mode, ECN on, use_mark_p_ OFF (2.35 ships it on with mark_p_ 0.1, which drops instead of
# marking), w_q 0.002, max_p 0.5, gentle off, wait on, mean packet 500 bytes for the idle
# estimate. All other queues are drop-tail and never overflow. No trace, no monitor, no file.
#
#            flows  bottleneck        one-way access delay  access rate    limit min_th max_th
#   thesis      60  10 Mbps   5 ms    95 / 45 / 20 ms       90 Mbps / N      120     10     30
#   1g       1 000  1 Gbps    5 ms    5 ms                  4 x fair share  2500    625   1875
#   10g     10 000  10 Gbps   5 ms    5 ms                  4 x fair share 25000   6250  18750
#
# (1g, 10g: propagation 20 ms there and back; limit = 1 BDP = rate x 20 ms, min_th = BDP/4,
# max_th = 3 BDP/4.) thesis: three equal groups (flow i is in group i mod 3), of each group
# one half starts at 0 s and the other at 2 s. 1g, 10g: starts evenly spread over 0.1 s.
# Defaults of time: 100 / 10 / 0.5 s; time=0 builds the network and ends: its CPU time is the
# set-up that a benchmark takes off.
#
# One line is `key value` pairs: flows, time, hops, data (packets sent, with
# retransmissions), acks, retransmitted, timeouts, CPU seconds of the set-up (up to the first
# event of the run) and of the run itself (Linux's schedstat, else wall time). mode=info adds
# the throughput over from..time and the bottleneck's share of its rate (from the ACKs that
# came back). mode=count counts every hop exactly (a monitor on every link; not for timing).
#
# packet-hops = one data or ACK packet over one of its 4 links (access, bottleneck, and both
# reverse). A data packet counts 1 when its sender sends it and the ACK it caused counts 3
# when it comes back (bottleneck + 2 reverse links). Every delivered packet causes one ACK
# and no ACK is lost, so a packet dropped at R counts 1, as it must. A packet or ACK that is
# on its way when the run ends (at most maxseq_ - ack_) counts 1 of the three that remain.
# Against mode=count: -0.01 % thesis, +0.08 % at 600 flows, +0.02 % 1g at 2 s, +5 % 10g at
# 0.3 s (that short, the overshoot of slow start is still on its way: take mode=count's).
# mode=bench and mode=count with the same arguments simulate the same packets.
#
# tcp=cubic takes ns-2's TCP/Linux with the CUBIC of Linux 2.6.22 and SACK instead of Reno.
#
# Only the headers IP, TCP and Flags are in the packets (headers=all: every header ns-2
# knows, its default), which makes ns-2 faster: the comparison is with ns-2 at its best.

array set option {net thesis flows {} time {} from {} seed 1 tcp reno mode bench sched Calendar headers few}
foreach word $argv {
    if {![regexp {^([a-z]+)=(.+)$} $word -> key value] || ![info exists option($key)]} {
        puts stderr "dumbbell.tcl: $word: expected one of [lsort [array names option]] as key=value"
        exit 2
    }
    set option($key) $value
}
switch -- $option(net) {
    thesis  { array set net {flows 60    rate 10e6  limit 120   min 10   max 30    time 100 delays {0.095 0.045 0.020}} }
    1g      { array set net {flows 1000  rate 1e9   limit 2500  min 625  max 1875  time 10  delays 0.005} }
    10g     { array set net {flows 10000 rate 10e9  limit 25000 min 6250 max 18750 time 0.5   delays 0.005} }
    default { puts stderr "dumbbell.tcl: net=$option(net): expected thesis, 1g or 10g"; exit 2 }
}
foreach {key allowed} {tcp {reno cubic} mode {bench info count} sched {Calendar Heap Map Splay} headers {few all}} {
    if {[lsearch -exact $allowed $option($key)] < 0} {
        puts stderr "dumbbell.tcl: $key=$option($key): expected one of $allowed"
        exit 2
    }
}
set n    [expr {$option(flows) eq "" ? $net(flows) : $option(flows)}]
set tend [expr {$option(time)  eq "" ? $net(time)  : $option(time)}]
set from [expr {$option(from)  eq "" ? 0.2 * $tend : $option(from)}]
set access_rate [expr {$option(net) eq "thesis" ? 90e6 / $n : 4.0 * $net(rate) / $n}]

Agent/TCP set window_ 64
Agent/TCP set packetSize_ 960 ;# + 40 bytes of header = 1000 on the wire
Agent/TCP set ecn_ 1
foreach {name value} [list thresh_ $net(min) maxthresh_ $net(max) linterm_ 2.0 q_weight_ 0.002 \
        bytes_ false queue_in_bytes_ false gentle_ false wait_ true setbit_ true \
        use_mark_p_ false adaptive_ 0 mean_pktsize_ 500] {
    Queue/RED set $name $value
}

if {$option(headers) eq "few"} {
    remove-all-packet-headers
    add-packet-header IP TCP Flags
}
set ns [new Simulator]
$ns use-scheduler $option(sched)
$defaultRNG seed $option(seed)
$ns rtproto Manual ;# no all-pairs routing table: it would need n^2 memory

proc route {node args} { ;# by hand, see rtproto above
    eval [$node get-module Manual] add-route-to-adj-node $args
}

proc watch {a b} { ;# mode=count
    global ns option monitors
    if {$option(mode) eq "count"} { lappend monitors [$ns monitor-queue $a $b ""] }
}
proc cpu_seconds {} { ;# of this process, ns-2's own exec time in Linux's scheduler
    if {[catch {open /proc/self/schedstat} file]} { return [expr {[clock clicks -milliseconds] / 1e3}] }
    set nanoseconds [lindex [read $file] 0]
    close $file
    expr {$nanoseconds / 1e9}
}

set R [$ns node]
set K [$ns node]
$ns simplex-link $R $K $net(rate) 0.005 RED
$ns simplex-link $K $R $net(rate) 0.005 DropTail
$ns queue-limit $R $K $net(limit)
$ns queue-limit $K $R 1000000
route $R -default $K
route $K -default $R
watch $R $K
watch $K $R

for {set i 0} {$i < $n} {incr i} {
    set host [$ns node]
    $ns duplex-link $host $R $access_rate [lindex $net(delays) [expr {$i % [llength $net(delays)]}]] DropTail
    $ns queue-limit $host $R 1000000
    $ns queue-limit $R $host 1000000
    route $host -default $R
    route $R $host
    watch $host $R
    watch $R $host
    if {$option(tcp) eq "cubic"} {
        set tcp($i) [new Agent/TCP/Linux]
        $ns at 0 "$tcp($i) select_ca cubic"
        set sink [new Agent/TCPSink/Sack1]
        $sink set ts_echo_rfc1323_ true
    } else {
        set tcp($i) [new Agent/TCP/Reno]
        set sink [new Agent/TCPSink]
    }
    $ns attach-agent $host $tcp($i)
    $ns attach-agent $K $sink
    $ns connect $tcp($i) $sink
    $tcp($i) set fid_ $i
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    if {$option(net) eq "thesis"} {
        # the k-th flow of its group; the first half of the group starts at 0 s
        set start [expr {$i / 3 < $n / 6.0 ? 0.0 : 2.0}]
    } else {
        set start [expr {0.1 * $i / $n}]
    }
    $ns at $start "$ftp start"
}

proc total {name} {
    global tcp n
    set sum 0
    for {set i 0} {$i < $n} {incr i} { set sum [expr {$sum + [$tcp($i) set $name]}] }
    return $sum
}
proc finish {} {
    global option monitors n tend from net acks_before
    global cpu_before
    set cpu [cpu_seconds]
    set data [total ndatapack_]
    set acks [total nackpack_]
    set outstanding [expr {min([total maxseq_] - [total ack_], $data - $acks)}]
    set hops [expr {$data + 3 * $acks + $outstanding}]
    if {$option(mode) eq "count"} {
        set hops 0
        foreach monitor $monitors { set hops [expr {$hops + [$monitor set pdepartures_]}] }
    }
    set line "flows $n time $tend hops $hops data $data acks $acks\
 retransmitted [total nrexmitpack_] timeouts [total nrexmit_]\
 setup_s [format %.4f $cpu_before] run_s [format %.4f [expr {$cpu - $cpu_before}]]"
    if {$option(mode) eq "info" && $tend > $from} {
        set bps [expr {($acks - $acks_before) * 8000.0 / ($tend - $from)}]
        append line " throughput_bps $bps utilisation [format %.4f [expr {$bps / $net(rate)}]] reactions [total necnresponses_]"
    }
    puts $line
    exit 0
}
if {$option(mode) eq "info"} { $ns at $from {set acks_before [total nackpack_]} }
$ns at 0 {set cpu_before [cpu_seconds]}
$ns at $tend finish
$ns run
