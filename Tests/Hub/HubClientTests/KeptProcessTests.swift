import BluetoothHost
import BluetoothInterface
import BluetoothWire
import Essentials
import EventLoop
import Foundation
import Glibc
import HubClient
import HubHost
import HubMachines
import HubWire
import SimulatedRadio
import Synchronization
import Testing

/// A process with a connection that has sent messages: it takes what the hub sends until it is killed.
private final class ConnectedProcess {
  private let process = Process()
  private let output = Pipe()
  private var reader = HubFrameReader()

  init(_ messages: [AppMessage], at path: String) throws {
    var writer = HubFrameWriter()
    for message in messages { try writer.append(message) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let isConnected = withUnsafePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, size) == 0
      }
    }
    let bytes = writer.takeBytes()
    try #require(isConnected && write(descriptor, bytes, bytes.count) == bytes.count)
    process.executableURL = URL(filePath: "/bin/cat")
    process.standardInput = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
    process.standardOutput = output
    try process.run()
    try output.fileHandleForWriting.close()
  }

  /// Reads what the hub sends, until it completes a request.
  func wait(for token: RequestToken) async throws -> Result<HostReply, HostError>? {
    while true {
      while let message = try reader.next(HubMessage.self) {
        guard case .events(_, let events) = message else { continue }
        for case .completed(token, let result) in events.events { return result }
      }
      let handle = output.fileHandleForReading
      let data = await withCheckedContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(returning: handle.availableData) }
      }
      if data.isEmpty { return nil }
      reader.append(Array(data))
    }
  }

  /// Kills the process; the last end of its connection is closed then.
  func kill() {
    Glibc.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }
}

@Suite("A process whose session is kept", .timeLimit(.minutes(5)))
struct KeptProcessTests {
  private static let name = "peripheral:lock"

  /// The greeting of a process whose session is to be kept, and its requests.
  private static func messages(_ requests: [HostRequest]) -> [AppMessage] {
    let opening = SessionOpening(
      id: HubSessionID(rawValue: 1), acknowledgesEvents: true, manager: name,
      keptFor: .seconds(3_600))
    let greeting = HubGreeting(
      app: "lock", abilities: [.bluetooth, .identity], openings: [opening])
    return [.greeting(greeting)] + requests.map { .request(opening.id, .known($0)) }
  }

  @Test("the next process of a killed one gets its scan and its service with their handles")
  func killed() async throws {
    SimulatedRadio.install()
    let path = TestHub.makePath()
    let host = try BluetoothHost(radio: .standard)
    let (reports, continuation) = AsyncStream.makeStream(of: HubReport.self)
    let hub = try await HubServer.start(at: .path(path), host) { continuation.yield($0) }
    let definition = ServiceDefinition(uuid: BluetoothUUID(0x180F as UInt16))
    let process = try ConnectedProcess(
      Self.messages([.startScan(ScanOptions()), .addService(definition, RequestToken(rawValue: 5))]
      ),
      at: path)
    let result = try await process.wait(for: RequestToken(rawValue: 5))
    guard case .success(.published(let published)) = result else {
      Issue.record("the service was not published: \(String(describing: result))")
      return
    }
    process.kill()
    for await report in reports { if case .closed(_, app: "lock", nil) = report { break } }
    var counts = await hub.counts()
    #expect(counts.connectionCount == 0 && counts.sessionCount == 1)

    let provider = HubSessionProvider(path: path, app: "lock", logger: .silent)
    let (answers, answer) = AsyncStream.makeStream(of: SessionAttachment.self)
    let (events, event) = AsyncStream.makeStream(of: HostEvent.self)
    let session = provider.openSession(
      name: Self.name, keptFor: .seconds(60), acknowledgesEvents: false, settle: nil,
      onAttached: { answer.yield($0) }, onEvents: { for next in $0 { event.yield(next) } })
    var attachments = answers.makeAsyncIterator()
    let attachment = try #require(await attachments.next())
    #expect(attachment.holdsName && attachment.keptFor == .seconds(60))
    #expect(attachment.holdings?.scan == ScanOptions())
    #expect(
      attachment.holdings?.services == [
        SessionHoldings.Service(definition: definition, published: published)
      ])
    // The session is the one that the host has had: another service gets other handles.
    session.send(.addService(definition, RequestToken(rawValue: 1)))
    for await next in events {
      guard case .completed(RequestToken(rawValue: 1), let result) = next else { continue }
      guard case .success(.published(let second)) = result else { break }
      #expect(second.range.start > published.range.end)
      break
    }
    // A session that is closed isn't kept.
    session.close()
    await provider.close()
    for await report in reports { if case .closed(_, app: "lock", nil) = report { break } }
    counts = await hub.counts()
    #expect(counts.connectionCount == 0 && counts.sessionCount == 0)
    await hub.close()
    await host.close()
  }
}
