# RFC 2914, Table 1, for ns-2 2.35 (Debian package `ns2`): three TCP flows, and datagrams of which most are dropped behind the bottleneck.
#
#   ns collapse.tcl [interval=MILLISECONDS] [seed=N]
#   ns collapse.tcl [bytes=0|1] [inbytes=0|1] [mean=BYTES] [maxp=P] [queue=RED|DropTail]    what else was tried
#
# s1 -10 Mbps, 2 ms- r1 -1.5 Mbps, 3 ms- r2 -10 Mbps, 10 ms- s3: three Sack1 flows from 0 s on, delayed acknowledgements, packets of 1500 bytes,
# windows of 100, a clock of 10 ms, other parameters of TCP as before 2.1b8. s2 -10 Mbps, 3 ms- r1 and r2 -128 kbps, 5 ms- s4: datagrams of
# 100 bytes, one each `interval`, from 1.4 s on. The queue of r1 is RED over 100 packets: thresholds 5 and 20, w_q 0.002, max_p 0.1, wait_ and
# gentle off, mean packet 1000 bytes, bytes_ on (a large packet is dropped more often) and queue_in_bytes_ off. 100 s.
#
# Prints one line of `key value` pairs, in percent of 1.5 Mbps: what arrives of UDP, and the goodput of UDP and of TCP.
array set option {interval 2.0 seed 1 bytes 1 inbytes 0 mean 1000 maxp 0.1 queue RED end 100.0}
foreach word $argv {
    if {![regexp {^([a-z]+)=(.+)$} $word -> key value] || ![info exists option($key)]} {
        puts stderr "collapse.tcl: $word: expected one of [lsort [array names option]] as key=value"
        exit 2
    }
    set option($key) $value
}
foreach {name value} {packetSize_ 1500 window_ 100 tcpTick_ 0.01 useHeaders_ false windowInit_ 1 syn_ false delay_growth_ false minrto_ 0 \
        rfc2988_ false timerfix_ false singledup_ 0 precisionReduce_ false rtxcur_init_ 6.0 maxrto_ 64 exitFastRetrans_ false} {
    Agent/TCP set $name $value
}
foreach {name value} [list thresh_ 5 maxthresh_ 20 linterm_ [expr {1.0 / $option(maxp)}] q_weight_ 0.002 bytes_ $option(bytes) \
        queue_in_bytes_ $option(inbytes) gentle_ false wait_ false setbit_ false use_mark_p_ false adaptive_ 0 mean_pktsize_ $option(mean)] {
    Queue/RED set $name $value
}
set ns [new Simulator]
$defaultRNG seed $option(seed)
foreach name {s1 s2 r1 r2 s3 s4} { set $name [$ns node] }
foreach {from to rate delay} [list $s1 $r1 10Mb 2ms $s2 $r1 10Mb 3ms $r2 $s3 10Mb 10ms $r2 $s4 128Kb 5ms] {
    $ns duplex-link $from $to $rate $delay DropTail
}
$ns simplex-link $r1 $r2 1.5Mb 3ms $option(queue)
$ns simplex-link $r2 $r1 1.5Mb 3ms DropTail
$ns queue-limit $r1 $r2 100
$ns queue-limit $r2 $r1 100

set udp [new Agent/UDP]
set received [new Agent/LossMonitor]
$ns attach-agent $s2 $udp
$ns attach-agent $s4 $received
$ns connect $udp $received
$udp set fid_ 3
set cbr [new Application/Traffic/CBR]
$cbr set packetSize_ 100
$cbr set interval_ [expr {$option(interval) / 1e3}]
$cbr attach-agent $udp
$ns at 1.4 "$cbr start"
for {set i 0} {$i < 3} {incr i} {
    set tcp [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1/DelAck]
    $ns attach-agent $s1 $tcp
    $ns attach-agent $s3 $sink
    $ns connect $tcp $sink
    $tcp set fid_ $i
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at 0.0 "$ftp start"
    lappend tcps $tcp
}
set monitor [$ns monitor-queue $s2 $r1 ""]

proc finish {} {
    global option tcps received monitor
    set acked 0
    foreach tcp $tcps { set acked [expr {$acked + [$tcp set ack_]}] }
    set all [expr {1.5e6 * $option(end) / 100}]
    puts "arrives [expr {[$monitor set pdepartures_] * 800.0 / $all}] udp [expr {[$received set npkts_] * 800.0 / $all}] tcp [expr {$acked * 12000.0 / $all}]"
    exit 0
}
$ns at $option(end) finish
$ns run
