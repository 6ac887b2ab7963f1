//! The few messages of etcd that a claim needs, in the wire format of Protocol Buffers and framed as gRPC does.

/// A message that is being written.
#[derive(Default)]
pub struct Message(Vec<u8>);

impl Message {
    /// A whole number, also when it is zero.
    #[must_use]
    pub fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    /// Bytes, or a text.
    #[must_use]
    pub fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    /// A message within this one.
    #[must_use]
    pub fn message(self, field: u64, value: &Self) -> Self {
        self.bytes(field, &value.0)
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    /// Its bytes behind the prefix of gRPC: not compressed, and how long it is.
    pub fn framed(self) -> Vec<u8> {
        let length = u32::try_from(self.0.len()).expect("a small message");
        [&[0], length.to_be_bytes().as_slice(), &self.0].concat()
    }
}

/// The whole number of a field in a framed message; zero is not sent.
pub fn number_in(framed: &[u8], field: u64) -> Option<u64> {
    let mut left = framed.get(5..)?;
    let mut found = 0;
    while !left.is_empty() {
        let key = varint(&mut left)?;
        match key & 7 {
            0 => {
                let value = varint(&mut left)?;
                if key >> 3 == field {
                    found = value;
                }
            }
            2 => {
                let length = usize::try_from(varint(&mut left)?).ok()?;
                left = left.get(length..)?;
            }
            _ => return None,
        }
    }
    Some(found)
}

fn varint(left: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = left.split_first()?;
        *left = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_again() {
        let inner = Message::default().number(1, 5);
        let message = Message::default().number(1, 300).message(2, &inner).bytes(3, b"key").number(4, 0);
        let framed = message.framed();
        assert_eq!(framed[..5], [0, 0, 0, 0, 14]);
        assert_eq!(framed[5..8], [0x08, 0xac, 0x02], "the example of the format's own description");
        assert_eq!(number_in(&framed, 1), Some(300));
        assert_eq!(number_in(&framed, 9), Some(0));
        assert_eq!(number_in(&framed[..framed.len() - 3], 1), None, "a message that was cut");
    }
}
