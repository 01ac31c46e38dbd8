# Two-way traffic over one bottleneck with RED in both directions, for ns-2 2.35 (Debian package `ns2`): acknowledgements share the
# measured queue with the data of the other way.
#
#   ns amecn-ared.tcl [aqm=red|ared] [ecn=0|1] [gentle=0|1] [stock=0|1] [delay=SECONDS] [window=PACKETS] [back=0|1] [end=SECONDS] [seed=N]
#
# sources -10 Mbps, delay- R1 -1.5 Mbps, 40 ms- R2 -10 Mbps, 4 ms- sinks, each flow with links of its own at both ends. Two long flows there
# and one back from 0 s (windows of `window`; back=0 leaves it out), 20 more there from 25 s on, one every 0.1 s (windows of 25); 100 s. Reno, 1000 bytes on the
# wire, ACKs of 40 bytes, other parameters of TCP as 2.35 has them. Both queues between R1 and R2 are RED: 40 packets, packets mode, thresholds 5
# and 15, w_q 0.0027, max_p 0.1, mean packet 500 bytes for the idle estimate; stock=1 leaves use_mark_p_ on with mark_p_ 0.1.
#
# Prints one line of `key value` pairs: of the queue R1 -> R2 over the whole run, and for each group of flows what its senders did.
array set option {aqm red ecn 1 gentle 1 stock 0 delay 0.001 window 1000 seed 1 back 1 end 100.0}
foreach word $argv {
    if {![regexp {^([a-z]+)=(.+)$} $word -> key value] || ![info exists option($key)]} {
        puts stderr "amecn-ared.tcl: $word: expected one of [lsort [array names option]] as key=value"
        exit 2
    }
    set option($key) $value
}
Agent/TCP set packetSize_ 960 ;# + 40 bytes of header = 1000 on the wire
Agent/TCP set ecn_ $option(ecn)
foreach {name value} [list thresh_ 5 maxthresh_ 15 linterm_ 10 q_weight_ 0.0027 bytes_ false queue_in_bytes_ false \
        gentle_ $option(gentle) wait_ true setbit_ $option(ecn) use_mark_p_ $option(stock) mark_p_ 0.1 mean_pktsize_ 500 \
        adaptive_ [expr {$option(aqm) eq "ared"}]] {
    Queue/RED set $name $value
}
remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
$defaultRNG seed $option(seed)
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right 1.5e6 0.040 RED
$ns queue-limit $left $right 40
$ns queue-limit $right $left 40
set monitor [$ns monitor-queue $left $right ""]
set packets [$monitor get-pkts-integrator]
set delays [new Samples]
$monitor set-delay-samples $delays

proc host {router delay} {
    global ns
    set host [$ns node]
    $ns duplex-link $host $router 10e6 $delay DropTail
    $ns queue-limit $host $router 1000
    $ns queue-limit $router $host 1000
    return $host
}
proc flow {from to window start} {
    global ns tcps
    set tcp [new Agent/TCP/Reno]
    set sink [new Agent/TCPSink]
    $tcp set window_ $window
    $ns attach-agent $from $tcp
    $ns attach-agent $to $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at $start "$ftp start"
    return $tcp
}
for {set i 0} {$i < 2} {incr i} { lappend long [flow [host $left $option(delay)] [host $right 0.004] $option(window) 0.0] }
set home {}
if {$option(back)} { lappend home [flow [host $right 0.004] [host $left $option(delay)] $option(window) 0.0] }
for {set i 0} {$i < 20} {incr i} { lappend burst [flow [host $left $option(delay)] [host $right 0.004] 25 [expr {25 + 0.1 * $i}]] }

proc sum {tcps name} {
    set total 0
    foreach tcp $tcps { incr total [$tcp set $name] }
    return $total
}
proc finish {} {
    global option monitor packets delays left right long home burst
    set red [[$::ns link $left $right] queue]
    puts -nonewline "utilisation [expr {[$monitor set bdepartures_] * 8.0 / (1.5e6 * $option(end))}]"
    puts -nonewline " queue_delay_mean_ms [expr {[$delays mean] * 1e3}] queue_mean_pkts [expr {[$packets set sum_] / $option(end)}]"
    puts -nonewline " drops [$monitor set pdrops_] arrivals [$monitor set parrivals_] marks [$monitor set pmarks_]"
    puts -nonewline " final_average [$red set ave_] final_max_p [$red set cur_max_p_]"
    foreach {group tcps} [list long $long home $home burst $burst] {
        puts -nonewline " acked_$group [sum $tcps ack_] sent_$group [sum $tcps ndatapack_] resent_$group [sum $tcps nrexmitpack_]"
        puts -nonewline " timeouts_$group [sum $tcps nrexmit_]"
    }
    puts ""
    exit 0
}
$ns at $option(end) finish
$ns run
