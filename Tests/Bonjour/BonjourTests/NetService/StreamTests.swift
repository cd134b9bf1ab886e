import DNSWire
import DiscoveryMachines
import Essentials
import Foundation
import Testing

@testable import Bonjour

@Suite("Streams to and from services", .timeLimit(.minutes(5)))
struct StreamTests {
  private let discovery = ScriptedDiscovery()
  private let thread = RunLoopThread()
  private let recorder = ServiceRecorder()

  /// Reads to the end and writes the input back, on the run loop on which it is scheduled.
  private final class Echo: NSObject, StreamDelegate, @unchecked Sendable {
    // Unchecked: used on one run loop only.
    let input: InputStream
    let output: OutputStream
    let events = Events<String>()

    init(_ input: InputStream, _ output: OutputStream) {
      self.input = input
      self.output = output
      super.init()
      for stream in [input, output] {
        stream.delegate = self
        stream.schedule(in: .current, forMode: .default)
        stream.open()
      }
    }

    func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
      let name = aStream === input ? "input" : "output"
      switch eventCode {
      case .openCompleted: events.add("\(name) open")
      case .hasBytesAvailable:
        var bytes = [UInt8](repeating: 0, count: 1_024)
        let count = input.read(&bytes, maxLength: bytes.count)
        if count > 0 { _ = output.write(bytes, maxLength: count) }
      case .endEncountered:
        events.add("\(name) end")
        if aStream === input { output.close() }
        aStream.close()
      case .errorOccurred: events.add("\(name) \(aStream.streamError.map { "\($0)" } ?? "")")
      default: break
      }
    }
  }

  /// A service that listens, and its port.
  private func listening() async -> (NetService, UInt16) {
    let service = await thread.run { [discovery, recorder] in
      DiscoveryContext.$override.withValue(discovery) {
        let service = NetService(domain: "", type: "_lamp._tcp.", name: "Desk lamp", port: 0)
        service.delegate = recorder
        service.publish(options: .listenForConnections)
        return service
      }
    }
    _ = await recorder.events.next()
    return (service, discovery.published.first?.service.port ?? 0)
  }

  /// A service to connect to.
  private func found() -> NetService {
    DiscoveryContext.$override.withValue(discovery) {
      NetService(domain: "local.", type: "_lamp._tcp.", name: "Desk lamp")
    }
  }

  /// Reports that the service is at that port of this host.
  private func reportResolution(port: UInt16, _ address: String) throws {
    let name = try ServiceName.lamp()
    let resolution = ServiceResolution(name: name, host: .lampHost, port: port, text: TXTRecord())
    discovery.notify(.resolve(name), .resolved(resolution))
    if let address = InetAddress(text: address) {
      discovery.notify(
        .addresses(.lampHost, versions: [.v4, .v6]), .addressAdded(address, ttlSeconds: 120))
    }
  }

  private static func streams(_ service: NetService) throws -> (InputStream, OutputStream) {
    var input: InputStream?
    var output: OutputStream?
    #expect(service.getInputStream(&input, outputStream: &output))
    return (try #require(input), try #require(output))
  }

  @Test("a connection is reported with streams, on IPv4 and IPv6", arguments: ["127.0.0.1", "::1"])
  func echo(_ address: String) async throws {
    let echoes = Events<Echo>()
    recorder.onAccept = { echoes.add(Echo($0, $1)) }
    let (service, port) = await listening()
    #expect(service.port == Int(port) && port != 0)

    let client = try Self.streams(found())
    #expect(client.0.streamStatus == .notOpen)
    client.0.open()
    client.1.open()
    #expect(client.1.streamStatus == .opening)
    try reportResolution(port: port, address)
    #expect(await recorder.events.next() == "accepted")
    let echo = try #require(await echoes.next())

    let sent = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let received = await Self.exchange(sent, client.0, client.1)
    #expect(received == sent)
    client.0.close()
    client.1.close()
    #expect(client.0.streamStatus == .closed)
    let events = await echo.events.next(3)
    #expect(Set(events) == ["input open", "output open", "input end"])
    withExtendedLifetime(service) {}
    await thread.end()
  }

  @Test func `Streams to a host and a port carry bytes, with the service type of VoIP, too`()
    async throws
  {
    let echoes = Events<Echo>()
    recorder.onAccept = { echoes.add(Echo($0, $1)) }
    let (service, port) = await listening()
    var input: InputStream?
    var output: OutputStream?
    DiscoveryContext.$override.withValue(discovery) {
      Stream.getStreamsToHost(
        withName: "127.0.0.1", port: Int(port), inputStream: &input, outputStream: &output)
    }
    let client = (try #require(input), try #require(output))
    #expect(client.0.property(forKey: .networkServiceType) == nil)
    // No manager of apps runs the test: the connection is an ordinary one.
    #expect(client.0.setProperty(StreamNetworkServiceTypeValue.voIP, forKey: .networkServiceType))
    #expect(client.1.property(forKey: .networkServiceType) as? String != nil)
    #expect(!client.1.setProperty(StreamNetworkServiceTypeValue.video, forKey: .networkServiceType))
    client.0.open()
    client.1.open()
    #expect(await recorder.events.next() == "accepted")
    let echo = try #require(await echoes.next())
    let sent = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    #expect(await Self.exchange(sent, client.0, client.1) == sent)
    client.0.close()
    client.1.close()
    withExtendedLifetime((service, echo)) {}
    await thread.end()
  }

  /// Records which streams were opened, and the first bytes.
  private final class Opens: NSObject, StreamDelegate, Sendable {
    let events = Events<String>()

    func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
      let name = aStream is InputStream ? "input" : "output"
      switch eventCode {
      case .openCompleted: events.add("\(name) open")
      case .hasBytesAvailable:
        var byte: UInt8 = 0
        if (aStream as? InputStream)?.read(&byte, maxLength: 1) == 1 { events.add("byte \(byte)") }
      default: break
      }
    }
  }

  /// The last step of preparing a stream; the others come before the connection.
  private enum LastStep: CaseIterable { case opening, scheduling, settingDelegate }

  @Test(arguments: LastStep.allCases, [false, true])
  private func `Both streams to a silent server report once that they are open`(
    _ last: LastStep, isVoIP: Bool
  ) async throws {
    let echoes = Events<Echo>()
    // Silent until the client sends.
    recorder.onAccept = { echoes.add(Echo($0, $1)) }
    let (service, port) = await listening()
    var streams: (input: InputStream?, output: OutputStream?)
    DiscoveryContext.$override.withValue(discovery) {
      Stream.getStreamsToHost(
        withName: "127.0.0.1", port: Int(port), inputStream: &streams.input,
        outputStream: &streams.output)
    }
    try await checkOpening(
      (try #require(streams.input), try #require(streams.output)), last, isVoIP: isVoIP
    ) {}
    withExtendedLifetime(service) {}
    await thread.end()
  }

  @Test(arguments: LastStep.allCases)
  private func `Both streams to a silent service report once that they are open`(_ last: LastStep)
    async throws
  {
    let echoes = Events<Echo>()
    recorder.onAccept = { echoes.add(Echo($0, $1)) }
    let (service, port) = await listening()
    try await checkOpening(try Self.streams(found()), last, isVoIP: false) {
      try reportResolution(port: port, "127.0.0.1")
    }
    withExtendedLifetime(service) {}
    await thread.end()
  }

  /// Opens the streams on two run loops, with one step at the end, and sends a byte only after their first events.
  private func checkOpening(
    _ streams: (input: InputStream, output: OutputStream), _ last: LastStep, isVoIP: Bool,
    connect: () throws -> Void
  ) async throws {
    let otherThread = RunLoopThread()
    let delegate = Opens()
    let prepared: [(Stream, RunLoop)] = [
      (streams.input, thread.loop), (streams.output, otherThread.loop),
    ]
    let voIP = StreamNetworkServiceTypeValue.voIP
    if isVoIP {
      for (stream, _) in prepared { stream.setProperty(voIP, forKey: .networkServiceType) }
    }
    func prepare(_ step: LastStep) {
      for (stream, loop) in prepared {
        switch step {
        case .opening: stream.open()
        case .scheduling: stream.schedule(in: loop, forMode: .default)
        case .settingDelegate: stream.delegate = delegate
        }
      }
    }
    for step in LastStep.allCases.reversed() where step != last { prepare(step) }
    if last == .opening { prepare(last) }
    try connect()
    #expect(await recorder.events.next() == "accepted")
    if last != .opening {
      // What the loops had to do before the last step is done.
      await thread.run {}
      await otherThread.run {}
      prepare(last)
    }
    #expect(Set(await delegate.events.next(2)) == ["input open", "output open"])
    #expect(streams.output.write([7], maxLength: 1) == 1)
    #expect(await delegate.events.next() == "byte 7")
    streams.input.close()
    streams.output.close()
    await otherThread.end()
  }

  @Test(arguments: [0, -1, 65_536])
  func `Streams to a port that is none fail when they are opened`(_ port: Int) async throws {
    var output: OutputStream?
    DiscoveryContext.$override.withValue(discovery) {
      Stream.getStreamsToHost(
        withName: "127.0.0.1", port: port, inputStream: nil, outputStream: &output)
    }
    let stream = try #require(output)
    stream.open()
    #expect(stream.streamStatus == .error)
    #expect((stream.streamError as? POSIXError)?.code == .EINVAL)
    await thread.end()
  }

  /// Writes in one thread and reads in another: both block.
  private static func exchange(
    _ bytes: [UInt8], _ input: InputStream, _ output: OutputStream
  ) async -> [UInt8] {
    nonisolated(unsafe) let (input, output) = (input, output)
    let writer = Thread {
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBufferPointer { buffer in
          buffer.baseAddress.map { output.write($0, maxLength: buffer.count) } ?? 0
        }
        guard count > 0 else { break }
        rest = rest.dropFirst(count)
      }
    }
    writer.start()
    return await withCheckedContinuation { continuation in
      let reader = Thread {
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while received.count < bytes.count {
          let count = input.read(&buffer, maxLength: buffer.count)
          guard count > 0 else { break }
          received += buffer.prefix(count)
        }
        continuation.resume(returning: received)
      }
      reader.start()
    }
  }

  @Test("without a listener the streams fail with the system's error")
  func refused() async throws {
    // A port that was free a moment ago.
    let (service, port) = await listening()
    service.stop()
    #expect(await recorder.events.next() == "stopped")
    nonisolated(unsafe) let (input, output) = try Self.streams(found())
    let echo = await thread.run { Echo(input, output) }
    try reportResolution(port: port, "127.0.0.1")
    // For that long another address is waited for.
    await discovery.passOnceSecondIsAwaited(seconds: 1)
    let events = Set(await echo.events.next(2))
    #expect(events.count == 2)
    #expect((input.streamError as? POSIXError)?.code == .ECONNREFUSED)
    #expect(input.streamStatus == .error)
    await thread.end()
  }

  @Test("a port in use can't be listened on")
  func taken() async throws {
    let (service, port) = await listening()
    let other = DiscoveryContext.$override.withValue(discovery) {
      NetService(domain: "", type: "_lamp._tcp.", name: "Other", port: Int32(port))
    }
    let second = ServiceRecorder()
    other.delegate = second
    other.schedule(in: thread.loop, forMode: .default)
    other.publish(options: .listenForConnections)
    #expect(await second.events.next() == "not published \(EADDRINUSE) of 1")
    withExtendedLifetime(service) {}
    await thread.end()
  }
}
