# A small network with marks, drops and reductions. ns2.tr is what ns-2.35 writes of it.
set ns [new Simulator]
set file [open ns2.tr w]
$ns trace-all $file
set a [$ns node]; set b [$ns node]; set c [$ns node]
Queue/RED set setbit_ true
Queue/RED set use_mark_p_ false
Queue/RED set thresh_ 2
Queue/RED set maxthresh_ 25
Queue/RED set q_weight_ 0.2
$ns duplex-link $a $b 10Mb 5ms DropTail
$ns simplex-link $b $c 1Mb 10ms RED
$ns simplex-link $c $b 1Mb 10ms DropTail
$ns queue-limit $b $c 20
Agent/TCP set ecn_ 1
set sender [new Agent/TCP/Sack1]
set sink [new Agent/TCPSink/Sack1]
$ns attach-agent $a $sender
$ns attach-agent $c $sink
$ns connect $sender $sink
$sender set fid_ 3
$sender set window_ 40
set ftp [new Application/FTP]
$ftp attach-agent $sender
$ns at 0.1 "$ftp start"
$ns at 0.8 "close $file; exit 0"
$ns run
