pub fn cube_root(a: u64) -> u64 { let mut x = (a as f64).powf(1.0/3.0) as u64; while (x+1).pow(3) <= a { x += 1 } x }
