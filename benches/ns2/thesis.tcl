# The networks of the AECN thesis for ns-2 2.35 (Debian package `ns2`), every link traced.
#
#   ns thesis.tcl out=FILE [net=4|5] [flows=N] [maxp=P] [ecn=1|0] [seed=N] [time=SECONDS]
#
# Every flow has a host with its own access link to router R (node 0); R - K (node 1) is the bottleneck, 10 Mbps and 5 ms, with RED;
# all sinks sit on K. Three equal groups of flows (flow i is in group i mod 3), of each group one half starts at 0 s and the other at 2 s.
#
#            access rate     one-way access delay, fragile / average / robust
#   net=4    300 Mbps / N    145 / 45 / 5 ms
#   net=5     90 Mbps / N     95 / 45 / 20 ms
#
# TCP is Reno with the defaults of the thesis' time (2.1b7): packets of 1000 bytes without headers, no SYN, initial window 1, a clock of
# 0.1 s, no minimum timeout. RED counts packets: 10 / 30, w_q 0.002, not gentle; with ECN it marks (use_mark_p_ off: 2.35 ships it on
# with mark_p_ 0.1, which drops instead). The line that is printed has what ns-2 itself has counted, over the whole run.

array set option {out {} net 5 flows 60 maxp 0.5 ecn 1 seed 1 time 100}
foreach word $argv {
    if {![regexp {^([a-z]+)=(.+)$} $word -> key value] || ![info exists option($key)]} {
        puts stderr "thesis.tcl: $word: expected one of [lsort [array names option]] as key=value"
        exit 2
    }
    set option($key) $value
}
switch -- $option(net) {
    4       { set access_rate 300e6; set delays {0.145 0.045 0.005} }
    5       { set access_rate 90e6; set delays {0.095 0.045 0.020} }
    default { puts stderr "thesis.tcl: net=$option(net): expected 4 or 5"; exit 2 }
}
if {$option(out) eq ""} { puts stderr "thesis.tcl: give the file that the trace goes to as out=FILE"; exit 2 }
set n $option(flows)

foreach {name value} [list window_ 64 useHeaders_ false packetSize_ 1000 ecn_ $option(ecn) tcpTick_ 0.1 minrto_ 0 rfc2988_ false \
        timerfix_ false singledup_ 0 precisionReduce_ false rtxcur_init_ 6 exitFastRetrans_ false bugfix_ss_ 0 maxrto_ 64 \
        syn_ false delay_growth_ false windowInit_ 1] {
    Agent/TCP set $name $value
}
foreach {name value} [list thresh_ 10 maxthresh_ 30 linterm_ [expr {1.0 / $option(maxp)}] q_weight_ 0.002 bytes_ false \
        queue_in_bytes_ false gentle_ false wait_ true setbit_ [expr {$option(ecn) ? "true" : "false"}] use_mark_p_ false adaptive_ 0 \
        mean_pktsize_ 500] {
    Queue/RED set $name $value
}

set ns [new Simulator]
$defaultRNG seed $option(seed)
$ns trace-all [set file [open $option(out) w]]
set R [$ns node]
set K [$ns node]
$ns simplex-link $R $K 10e6 0.005 RED
$ns simplex-link $K $R 10e6 0.005 DropTail
$ns queue-limit $R $K 120
$ns queue-limit $K $R 1000000
for {set i 0} {$i < $n} {incr i} {
    set host [$ns node]
    $ns duplex-link $host $R [expr {$access_rate / $n}] [lindex $delays [expr {$i % 3}]] DropTail
    $ns queue-limit $host $R 1000000
    $ns queue-limit $R $host 1000000
    set tcp($i) [new Agent/TCP/Reno]
    set sink [new Agent/TCPSink]
    $ns attach-agent $host $tcp($i)
    $ns attach-agent $K $sink
    $ns connect $tcp($i) $sink
    $tcp($i) set fid_ $i
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at [expr {$i / 3 < $n / 6.0 ? 0.0 : 2.0}] "$ftp start"
}

proc total {name} {
    global tcp n
    set sum 0
    for {set i 0} {$i < $n} {incr i} { incr sum [$tcp($i) set $name] }
    return $sum
}
proc finish {} {
    global file
    puts "sent [total ndatapack_] retransmitted [total nrexmitpack_] timeouts [total nrexmit_] reactions [total necnresponses_]"
    close $file
    exit 0
}
$ns at $option(time) finish
$ns run
