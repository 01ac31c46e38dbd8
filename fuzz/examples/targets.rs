//! Lists the targets: name, and the length of the longest input that is tried.

fn main() {
    for target in ecnlab_fuzz::TARGETS {
        println!("{} {}", target.name, target.longest);
    }
}
