//! Captures of other programs are read as pcap-parser reads them: either byte order, any resolution of time, several sections and
//! interfaces, options, blocks of other kinds, and truncated packets.

#[expect(dead_code, reason = "examples are for other tests")]
mod common;

use ecnlab_wire::{Format, Headers, Location, Packet, Reader};
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{Block, PcapBlockOwned, PcapNGReader};
use proptest::prelude::*;

const RAW_IP: u16 = 101;

/// One section: its byte order, the resolution and the offset of each interface, and its blocks.
#[derive(Clone, Debug)]
struct Section {
    is_big: bool,
    interfaces: Vec<(u8, i64)>,
    blocks: Vec<GeneratedBlock>,
}

#[derive(Clone, Debug)]
enum GeneratedBlock {
    Packet {
        interface: usize,
        units: u64,
        snap_length: u32,
        has_comment: bool,
        packet: Packet,
    },
    /// A block of statistics, of names, or of an unknown kind.
    Other {
        kind: u32,
        body: Vec<u32>,
    },
}

fn sections() -> impl Strategy<Value = Vec<Section>> {
    prop::collection::vec(section(), 1..4)
}

fn section() -> impl Strategy<Value = Section> {
    let resolution = prop_oneof![Just(0_u8), Just(3), Just(6), Just(9), Just(12), Just(0x80 | 10), Just(0x80 | 20)];
    let packet = (any::<prop::sample::Index>(), 0..1_000_000_u64, 0..2000_u32, any::<bool>(), common::packet()).prop_map(
        |(interface, units, snap_length, has_comment, packet)| GeneratedBlock::Packet {
            interface: interface.index(4),
            units,
            snap_length,
            has_comment,
            packet,
        },
    );
    // No names, statistics of interface 0, and an unknown kind (pcap-parser ends at a block without a body).
    let other = prop_oneof![
        Just((4_u32, vec![0])),
        Just((5, vec![0, 0, 0])),
        prop::collection::vec(any::<u32>(), 1..9).prop_map(|body| (0x0bad, body)),
    ]
    .prop_map(|(kind, body)| GeneratedBlock::Other { kind, body });
    let blocks = prop::collection::vec(prop_oneof![4 => packet, 1 => other], 0..12);
    (any::<bool>(), prop::collection::vec((resolution, 0..50_i64), 1..4), blocks).prop_map(|(is_big, interfaces, blocks)| Section {
        is_big,
        interfaces,
        blocks,
    })
}

/// Bytes in the order of a section.
struct SectionWriter {
    bytes: Vec<u8>,
    is_big: bool,
}

impl SectionWriter {
    fn u16(&mut self, value: u16) {
        self.bytes.extend(if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    fn u32(&mut self, value: u32) {
        self.bytes.extend(if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.u16(code);
        self.u16(value.len() as u16);
        self.bytes.extend_from_slice(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn block(&mut self, kind: u32, body: impl FnOnce(&mut SectionWriter)) {
        let mut inner = SectionWriter { bytes: Vec::new(), is_big: self.is_big };
        body(&mut inner);
        let length = inner.bytes.len() as u32 + 12;
        self.u32(kind);
        self.u32(length);
        self.bytes.extend(inner.bytes);
        self.u32(length);
    }
}

fn file(sections: &[Section]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for Section { is_big, interfaces, blocks } in sections {
        let mut out = SectionWriter { bytes: Vec::new(), is_big: *is_big };
        out.block(0x0a0d_0d0a, |out| {
            out.u32(0x1a2b_3c4d);
            out.u16(1);
            out.u16(0);
            out.bytes.extend([0xff; 8]);
        });
        for (resolution, offset) in interfaces {
            out.block(1, |out| {
                out.u16(RAW_IP);
                out.u16(0);
                out.u32(0);
                out.option(2, b"some name");
                out.option(9, &[*resolution]);
                // pcap-parser 0.17 reads an offset as little-endian in any section.
                if !is_big {
                    out.option(14, &offset.to_le_bytes());
                }
                out.option(0, &[]);
            });
        }
        for generated in blocks {
            write_block(generated, interfaces.len(), &mut out);
        }
        bytes.extend(out.bytes);
    }
    bytes
}

fn write_block(generated: &GeneratedBlock, interfaces: usize, out: &mut SectionWriter) {
    match generated {
        GeneratedBlock::Other { kind, body } => out.block(*kind, |out| body.iter().for_each(|&word| out.u32(word))),
        GeneratedBlock::Packet { interface, units, snap_length, has_comment, packet } => out.block(6, |out| {
            let headers = Headers::of(packet);
            let mut captured = Vec::new();
            headers.write_with_zero_payload((*snap_length).max(120), &mut captured);
            out.u32((interface % interfaces) as u32);
            out.u32((units >> 32) as u32);
            out.u32(*units as u32);
            out.u32(captured.len() as u32);
            out.u32(headers.packet_size());
            out.bytes.extend_from_slice(&captured);
            out.bytes.resize(out.bytes.len().next_multiple_of(4), 0);
            if *has_comment {
                out.option(1, b"a comment");
                out.option(0, &[]);
            }
        }),
    }
}

/// A packet as either reader returns it: its interface, of all sections; nanoseconds, from whole units of them; and its bytes on the wire.
type ReadPacket = (u32, u128, u32);

/// By `if_tsresol`. pcap-parser's own function, of version 0.17, refuses all powers of two.
fn per_second(code: u8) -> u64 {
    if code & 0x80 == 0 { 10_u64.pow(code.into()) } else { 1 << (code & 0x7f) }
}

fn read_with_pcap_parser(file: &[u8]) -> Vec<ReadPacket> {
    let mut reader = PcapNGReader::new(1 << 20, file).unwrap();
    let (mut first, mut resolutions, mut packets) = (0, Vec::new(), Vec::new());
    while let Ok((length, block)) = reader.next() {
        match block {
            PcapBlockOwned::NG(Block::SectionHeader(_)) => first = resolutions.len(),
            PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
                resolutions.push((per_second(interface.if_tsresol), interface.if_tsoffset));
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                let at = first + packet.if_id as usize;
                let (per_second, offset) = resolutions[at];
                let units = u128::from(packet.ts_high) << 32 | u128::from(packet.ts_low);
                let nanos = offset as u128 * 1_000_000_000 + units * 1_000_000_000 / u128::from(per_second);
                packets.push((at as u32, nanos, packet.origlen));
            }
            _ => {}
        }
        reader.consume(length);
    }
    packets
}

proptest! {
    #![proptest_config(common::config())]

    #[test]
    fn captures_are_read_as_pcap_parser_reads_them(sections in sections()) {
        let file = file(&sections);
        let mut reader = Reader::from_reader(&file[..]).unwrap();
        prop_assert_eq!(Format::Pcapng, reader.format());
        let events: Vec<_> = reader.by_ref().map(Result::unwrap).collect();
        let epoch_nanos = u128::from(reader.epoch_s()) * 1_000_000_000;
        let read_here: Vec<ReadPacket> = events
            .iter()
            .map(|event| {
                let Location::Interface(interface) = event.location else { panic!("a capture has interfaces") };
                (interface, epoch_nanos + u128::from(event.time.picos() / 1_000), event.packet.size)
            })
            .collect();
        prop_assert_eq!(read_with_pcap_parser(&file), read_here);
        let generated = sections.iter().flat_map(|section| &section.blocks).filter_map(|generated| match generated {
            GeneratedBlock::Packet { packet, .. } => Some(packet),
            GeneratedBlock::Other { .. } => None,
        });
        prop_assert_eq!(generated.collect::<Vec<_>>(), events.iter().map(|event| &event.packet).collect::<Vec<_>>());
    }
}
