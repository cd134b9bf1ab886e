#if Messaging
  import Essentials
  import Testing
  @testable import XMPPMachines
  import XMPPWire

  @Suite("Downloads")
  struct DownloadTests {
    private static let digest = [UInt8](repeating: 7, count: 32)

    private static func machine(
      byteCount: Int64? = 10, hasDigest: Bool = true, partial: Int64 = 0,
      limits: DownloadLimits = DownloadLimits()
    ) throws -> DownloadMachine {
      DownloadMachine(
        try #require(HTTPSAddress("https://files.example/a")),
        announced: FileMetadata(
          byteCount: byteCount, hashes: hasDigest ? [FileHash(FileHash.sha256, digest)] : []),
        partial: partial, limits: limits)
    }

    private static func address(_ text: String) throws -> HTTPSAddress {
      try #require(HTTPSAddress(text))
    }

    @Test func `A file is written from its beginning, and done with the announced digest`() throws {
      var machine = try Self.machine()
      #expect(machine.begin() == .get(try Self.address("https://files.example/a"), from: 0))
      #expect(machine.handle(.init(status: 200, contentLength: 10)) == .write(from: 0))
      #expect(machine.take(10) == nil)
      #expect(machine.ended() == .digest)
      #expect(machine.handle(digest: Self.digest) == .done)
    }

    @Test func `A cut file goes on where it ended`() throws {
      var machine = try Self.machine()
      _ = machine.begin()
      _ = machine.handle(.init(status: 200, contentLength: 10))
      _ = machine.take(4)
      #expect(machine.failed("cut") == .pause(.seconds(1)))
      #expect(machine.begin() == .get(try Self.address("https://files.example/a"), from: 4))
      let part = DownloadResponse(status: 206, contentLength: 6, contentRange: "bytes 4-9/10")
      #expect(machine.handle(part) == .write(from: 4))
      #expect(machine.take(6) == nil && machine.ended() == .digest)
      #expect(machine.handle(digest: Self.digest) == .done)
    }

    @Test func `A server without parts sends the whole file again`() throws {
      var machine = try Self.machine(partial: 4)
      #expect(machine.begin() == .get(try Self.address("https://files.example/a"), from: 4))
      #expect(machine.handle(.init(status: 200, contentLength: 10)) == .write(from: 0))
    }

    @Test func `A part of another file is replaced by the whole one`() throws {
      var machine = try Self.machine(partial: 4)
      _ = machine.begin()
      let part = DownloadResponse(status: 206, contentLength: 6, contentRange: "bytes 4-9/10")
      #expect(machine.handle(part) == .write(from: 4))
      _ = machine.take(6)
      #expect(
        machine.handle(digest: [1]) == .get(try Self.address("https://files.example/a"), from: 0))
      #expect(machine.handle(.init(status: 200, contentLength: 10)) == .write(from: 0))
      _ = machine.take(10)
      #expect(machine.handle(digest: [1]) == .fail(.wrongContent))
    }

    @Test func `A part without a digest of the whole is not used`() throws {
      var machine = try Self.machine(hasDigest: false, partial: 4)
      #expect(machine.begin() == .get(try Self.address("https://files.example/a"), from: 0))
      _ = machine.handle(.init(status: 200, contentLength: 10))
      _ = machine.take(4)
      _ = machine.failed("cut")
      #expect(machine.begin() == .get(try Self.address("https://files.example/a"), from: 0))
    }

    @Test func `A complete file that a killed process has left is only checked`() throws {
      var machine = try Self.machine(partial: 10)
      #expect(machine.begin() == .digest)
      #expect(machine.handle(digest: Self.digest) == .done)
      machine = try Self.machine(partial: 11)
      #expect(machine.begin() == .get(try Self.address("https://files.example/a"), from: 0))
    }

    @Test(arguments: [
      "bytes 3-9/10", "bytes 5-9/10", "bytes */10", "bits 4-9/10", "bytes 4", "",
    ])
    func `Another part than the requested one is not written`(range: String) throws {
      var machine = try Self.machine(partial: 4)
      _ = machine.begin()
      let part = DownloadResponse(status: 206, contentLength: 6, contentRange: range)
      #expect(machine.handle(part) == .pause(.seconds(1)))
      #expect(machine.begin() == .get(try Self.address("https://files.example/a"), from: 0))
    }

    @Test func `A file larger than announced or allowed is refused before it is written`() throws {
      var limits = DownloadLimits()
      limits.byteCountMax = 100
      #expect(
        try Self.unannounced(limits, length: 101) == .fail(.tooLarge(byteCountMax: 100)))
      var machine = try Self.machine(byteCount: 101, limits: limits)
      #expect(machine.begin() == .fail(.tooLarge(byteCountMax: 100)))
      machine = try Self.machine()
      _ = machine.begin()
      #expect(
        machine.handle(.init(status: 200, contentLength: 11)) == .fail(.tooLarge(byteCountMax: 10)))
      machine = try Self.machine()
      _ = machine.begin()
      #expect(machine.handle(.init(status: 200, contentLength: 9)) == .fail(.wrongContent))
    }

    private static func unannounced(
      _ limits: DownloadLimits, length: Int64
    ) throws -> DownloadMachine.Action {
      var machine = try machine(byteCount: nil, limits: limits)
      _ = machine.begin()
      return machine.handle(.init(status: 200, contentLength: length))
    }

    @Test func `A body without an end is cut at the bound`() throws {
      var machine = try Self.machine()
      _ = machine.begin()
      #expect(machine.handle(.init(status: 200)) == .write(from: 0))
      #expect(machine.take(10) == nil)
      #expect(machine.take(1) == .fail(.tooLarge(byteCountMax: 10)))
      #expect(machine.take(.max) == .fail(.tooLarge(byteCountMax: 10)))
    }

    @Test func `Redirections are followed five times, to addresses of https only`() throws {
      var machine = try Self.machine()
      _ = machine.begin()
      for number in 1...5 {
        #expect(
          machine.handle(.init(status: 302, location: "/\(number)"))
            == .get(try Self.address("https://files.example/\(number)"), from: 0))
      }
      #expect(machine.handle(.init(status: 307, location: "/6")) == .fail(.tooManyRedirects))
      for location in ["http://files.example/", "file:///etc/passwd", "https://a b/", nil] {
        machine = try Self.machine()
        _ = machine.begin()
        #expect(
          machine.handle(.init(status: 301, location: location)) == .fail(.badRedirect))
      }
    }

    @Test func `Pauses end after four attempts that bring nothing`() throws {
      var machine = try Self.machine()
      for pause in [1, 2, 4, 8] as [Int64] {
        _ = machine.begin()
        #expect(machine.handle(.init(status: 503)) == .pause(.seconds(pause)))
      }
      _ = machine.begin()
      #expect(machine.failed("cut") == .fail(.broken("cut")))
      machine = try Self.machine()
      _ = machine.begin()
      #expect(machine.handle(.init(status: 404)) == .fail(.refused(404)))
    }

    @Test(arguments: 0..<50)
    func `Whatever a server answers, a download ends within its bounds`(round: UInt64) throws {
      let seed = UInt64.random(in: 0...UInt64.max) ^ round
      var chance = SeededGenerator(seed: seed)
      var machine = try Self.machine(
        byteCount: Bool.random(using: &chance) ? 10 : nil,
        hasDigest: Bool.random(using: &chance), partial: Int64.random(in: 0...12, using: &chance))
      var action = machine.begin()
      for _ in 0..<1_000 {
        switch action {
        case .get:
          action = machine.handle(
            DownloadResponse(
              status: [200, 206, 302, 416, 500, 404].randomElement(using: &chance) ?? 200,
              contentLength: [nil, 0, 6, 10, -1, .max].randomElement(using: &chance) ?? nil,
              contentRange: ["bytes 4-9/10", "bytes 4-9/*", "x"].randomElement(using: &chance),
              location: ["/b", "x:"].randomElement(using: &chance)))
        case .write(let place):
          #expect(place == machine.byteCount, "seed \(seed)")
          action = machine.take(Int.random(in: 0...6, using: &chance)) ?? machine.ended()
        case .digest:
          action = machine.handle(digest: Bool.random(using: &chance) ? Self.digest : [])
        case .pause: action = machine.begin()
        case .done, .fail: return
        }
        #expect(machine.byteCount >= 0 && machine.byteCount <= 256 << 20, "seed \(seed)")
      }
      Issue.record("the download has no end, seed \(seed)")
    }
  }

  @Suite("Public addresses")
  struct PublicAddressTests {
    @Test(arguments: [
      "8.8.8.8", "1.1.1.1", "172.15.255.255", "172.32.0.0", "100.63.0.1", "2606:4700::1111",
      "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1",
    ])
    func `An address of the Internet is public`(text: String) throws {
      #expect(try #require(InetAddress(text: text)).isPublic)
    }

    @Test(arguments: [
      "0.0.0.0", "127.0.0.1", "127.255.0.1", "10.0.0.1", "172.16.0.1", "172.31.255.255",
      "192.168.1.1", "169.254.169.254", "100.64.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1",
      "255.255.255.255", "::", "::1", "fe80::1", "fc00::1", "fd12::1", "ff02::1",
      "::ffff:127.0.0.1",
      "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1", "2001::1",
      "::127.0.0.1",
      "fec0::1",
    ])
    func `An address of this machine or of a private network is not public`(text: String) throws {
      #expect(try !#require(InetAddress(text: text)).isPublic)
    }
  }
#endif
