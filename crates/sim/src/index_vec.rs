//! A vector whose elements have numbers of 32 bits, as links, queues, flows and applications have.

use std::ops::{Deref, DerefMut, Index, IndexMut, Range};

/// A vector that is indexed by `u32`.
#[derive(Clone, Debug)]
pub struct IndexVec<T>(Vec<T>);

impl<T> IndexVec<T> {
    pub fn with_capacity(capacity: usize) -> IndexVec<T> {
        IndexVec(Vec::with_capacity(capacity))
    }

    /// Number that the next element gets.
    #[inline]
    pub fn next_number(&self) -> u32 {
        self.len() as u32
    }

    /// Numbers of all elements.
    pub fn numbers(&self) -> Range<u32> {
        0..self.next_number()
    }

    /// Adds an element; returns its number.
    #[inline]
    pub fn push(&mut self, element: T) -> u32 {
        let number = self.next_number();
        self.0.push(element);
        number
    }

    /// The element of a number; elements up to it are added as far as they are missing.
    #[inline]
    pub fn get_or_add(&mut self, number: u32, new: impl FnMut() -> T) -> &mut T {
        if self.next_number() <= number {
            self.0.resize_with(number as usize + 1, new);
        }
        &mut self[number]
    }
}

impl<T> Default for IndexVec<T> {
    fn default() -> IndexVec<T> {
        IndexVec(Vec::new())
    }
}

impl<T> FromIterator<T> for IndexVec<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> IndexVec<T> {
        IndexVec(elements.into_iter().collect())
    }
}

impl<T> Deref for IndexVec<T> {
    type Target = Vec<T>;

    #[inline(always)]
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for IndexVec<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T> Index<u32> for IndexVec<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, number: u32) -> &T {
        &self.0[number as usize]
    }
}

impl<T> IndexMut<u32> for IndexVec<T> {
    #[inline(always)]
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.0[number as usize]
    }
}
