#if Messaging
  import Testing

  @testable import MessagingHost

  @Suite("Names of certificates")
  struct CertificateNameTests {
    @Test("a name of a certificate is for the same name, whatever its case and its last dot")
    func same() {
      #expect(CertificateName("Chat.Example").matches("chat.example"))
      #expect(CertificateName("chat.example.").matches("chat.example"))
      #expect(CertificateName("chat.example").matches("CHAT.EXAMPLE."))
      #expect(!CertificateName("chat.example").matches("evil.example"))
      #expect(!CertificateName("chat.example").matches("chat.example.evil"))
      #expect(!CertificateName("").matches("chat.example"))
    }

    @Test("a first label that is an asterisk is for one label, and not for a whole public suffix")
    func wildcard() {
      #expect(CertificateName("*.chat.example").matches("a.chat.example"))
      #expect(!CertificateName("*.chat.example").matches("chat.example"))
      #expect(!CertificateName("*.chat.example").matches("b.a.chat.example"))
      #expect(!CertificateName("*.example").matches("chat.example"))
      #expect(!CertificateName("chat.*.example").matches("chat.a.example"))
    }
  }
#endif
