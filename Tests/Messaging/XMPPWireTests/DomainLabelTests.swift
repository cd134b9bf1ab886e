#if Messaging
  import Testing
  import XMPPWire

  @Suite("Labels of internationalized domains")
  struct DomainLabelTests {
    @Test(
      "A label in ASCII becomes the one in Unicode, and others stay",
      arguments: [
        ("xn--bcher-kva.example", "b\u{FC}cher.example"),
        ("push.XN--BCHER-KVA.example", "push.b\u{FC}cher.example"),
        ("xn--fiqs8s", "\u{4E2D}\u{56FD}"),
        ("xn--mnchen-3ya.xn--p1ai", "m\u{FC}nchen.\u{440}\u{444}"),
        // RFC 3492, §7.1, (B): Chinese.
        (
          "xn--ihqwcrb4cv8a8dqg056pqjye",
          "\u{4ED6}\u{4EEC}\u{4E3A}\u{4EC0}\u{4E48}\u{4E0D}\u{8BF4}\u{4E2D}\u{6587}"
        ),
        ("push.example", "push.example"), ("", ""), (".", "."), ("xn--", "xn--"),
        ("xn--a", "xn--a"), ("xn--\u{FC}-kva", "xn--\u{FC}-kva"),
        ("xn--99999999", "xn--99999999"), ("xn--abc-", "xn--abc-"),
      ])
    func labels(ascii: String, unicode: String) {
      #expect(DomainLabels.unicode(ascii) == unicode)
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `Any text is taken, also with numbers beyond all bounds`(seed: UInt64) {
      var state = seed &* 0x9E37_79B9_7F4A_7C15
      let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789-.")
      for _ in 0..<500 {
        var text = "xn--"
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        for _ in 0..<(state >> 33) % 60 {
          state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
          text.append(letters[Int((state >> 33) % UInt64(letters.count))])
        }
        #expect(!DomainLabels.unicode(text).isEmpty, "seed \(seed)")
      }
    }
  }
#endif
