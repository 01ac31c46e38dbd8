# The network of small.tr.gz, for ns-2 2.35: a TCP with ECN and a stream of constant rate over a RED queue that marks and drops.
set ns [new Simulator]
$ns trace-all [set file [open small.tr w]]
set source [$ns node]; set router [$ns node]; set sink [$ns node]
foreach {name value} {thresh_ 2 maxthresh_ 8 q_weight_ 0.2 setbit_ true bytes_ false queue_in_bytes_ false use_mark_p_ false} {
    Queue/RED set $name $value
}
Agent/TCP set ecn_ 1
Agent/TCP set window_ 30
$ns duplex-link $source $router 10Mb 10ms DropTail
$ns duplex-link $router $sink 1Mb 10ms RED
$ns queue-limit $router $sink 12
set tcp [new Agent/TCP/Sack1]
set tcp_sink [new Agent/TCPSink/Sack1]
$ns attach-agent $source $tcp
$ns attach-agent $sink $tcp_sink
$ns connect $tcp $tcp_sink
$tcp set fid_ 7
set ftp [new Application/FTP]
$ftp attach-agent $tcp
set udp [new Agent/UDP]
set null [new Agent/Null]
$ns attach-agent $source $udp
$ns attach-agent $sink $null
$ns connect $udp $null
set stream [new Application/Traffic/CBR]
$stream set packetSize_ 500
$stream set interval_ 0.02
$stream attach-agent $udp
$ns at 0 "$ftp start"
$ns at 0.5 "$stream start"
$ns at 5 {close $file; exit 0}
$ns run
