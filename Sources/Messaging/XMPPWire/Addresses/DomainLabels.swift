#if Messaging
  /// The labels of internationalized domains (RFC 5890): servers of XMPP write them in Unicode.
  package enum DomainLabels {
    /// A domain whose ASCII forms of Unicode labels (`xn--…`) are replaced by the labels; those that can't be read stay.
    package static func unicode(_ domain: String) -> String {
      domain.split(separator: ".", omittingEmptySubsequences: false).map { label in
        let lower = label.lowercased()
        guard lower.utf8.count <= labelByteCountMax, lower.hasPrefix("xn--"),
          let text = decode(lower.dropFirst(4))
        else { return String(label) }
        return text
      }.joined(separator: ".")
    }

    /// The maximum length of a label (RFC 1035, §2.3.4).
    private static let labelByteCountMax = 63

    /// Reads Punycode (RFC 3492, §6.2); nil if it isn't any.
    private static func decode(_ text: Substring) -> String? {
      let bytes = Array(text.utf8)
      let basicCount = bytes.lastIndex(of: UInt8(ascii: "-")) ?? 0
      var scalars = bytes[..<basicCount].map { Unicode.Scalar($0) }
      guard scalars.allSatisfy(\.isASCII) else { return nil }
      var place = basicCount > 0 ? basicCount + 1 : 0
      var (code, index, bias) = (UInt32(0x80), UInt32(0), UInt32(72))
      while place < bytes.count {
        let old = index
        var (weight, step) = (UInt32(1), UInt32(36))
        while true {
          guard place < bytes.count, let digit = digit(bytes[place]) else { return nil }
          place += 1
          let (part, isTooLarge) = digit.multipliedReportingOverflow(by: weight)
          let (sum, isBeyond) = index.addingReportingOverflow(part)
          guard !isTooLarge, !isBeyond else { return nil }
          index = sum
          let threshold = step <= bias ? 1 : min(26, step - bias)
          if digit < threshold { break }
          let (next, isHeavy) = weight.multipliedReportingOverflow(by: 36 - threshold)
          guard !isHeavy else { return nil }
          (weight, step) = (next, step + 36)
        }
        let count = UInt32(scalars.count + 1)
        bias = adapt(index - old, count, isFirst: old == 0)
        let (next, isBeyond) = code.addingReportingOverflow(index / count)
        guard !isBeyond, let scalar = Unicode.Scalar(next) else { return nil }
        code = next
        index %= count
        scalars.insert(scalar, at: Int(index))
        index += 1
      }
      let others = scalars.filter { !$0.isASCII }
      guard !others.isEmpty, others.allSatisfy(\.properties.isIDContinue) else { return nil }
      return String(String.UnicodeScalarView(scalars))
    }

    private static func digit(_ byte: UInt8) -> UInt32? {
      switch byte {
      case 0x30...0x39: UInt32(byte) - 0x30 + 26
      case 0x41...0x5A: UInt32(byte) - 0x41
      case 0x61...0x7A: UInt32(byte) - 0x61
      default: nil
      }
    }

    /// The adaptation of the bias (RFC 3492, §6.1).
    private static func adapt(_ delta: UInt32, _ count: UInt32, isFirst: Bool) -> UInt32 {
      var delta = isFirst ? delta / 700 : delta / 2
      delta += delta / count
      var step: UInt32 = 0
      while delta > 455 {
        delta /= 35
        step += 36
      }
      return step + 36 * delta / (delta + 38)
    }
  }
#endif
