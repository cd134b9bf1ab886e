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
import HubPlaces
import HubWire
import SimulatedRadio
import Simulation
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

  /// A world with a device that counts.
  private static func countingRadio(_ numbers: DeviceNumbers) async throws -> RadioServer {
    try await RadioServer.start(at: [.unix(path: TestHub.makePath())]) {
      let world = World(seed: 1, radio: .ideal)
      _ = world.addDevice(named: "Counter", at: Position(x: 1, y: 0)) { strap in
        strap.advertisedServices = [0x180D]
        let measurement = strap.addService(0x180D).addCharacteristic(0x2A37, [.notify])
        strap.every(.milliseconds(50)) {
          let number = numbers.next()
          measurement.notify([UInt8(truncatingIfNeeded: number), UInt8(number >> 8 & 0xFF)])
        }
      }
      return world
    }
  }

  /// The numbers of the next lines with values.
  private static func values(_ count: Int, of run: ProgramRun) async throws -> [Int] {
    var values: [Int] = []
    while values.count < count {
      let line = try #require(await run.next())
      let number = line.split(separator: " ").last.flatMap { Int($0) }
      values.append(try #require(line.hasPrefix("value ") ? number : nil, "\(line)"))
    }
    return values
  }

  @Test("an app that is killed while it is subscribed gets the values that came meanwhile, once")
  func killedApp() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
    let path = try #require(HubPath.user(runtimeFolder: folder.path))
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    let numbers = DeviceNumbers()
    let radio = try await Self.countingRadio(numbers)
    let host = try BluetoothHost(radio: try #require(radio.addresses.first))
    let (reports, continuation) = AsyncStream.makeStream(of: HubReport.self)
    let hub = try await HubServer.start(at: .ownFolder(path: path), host) { continuation.yield($0) }
    var closings = reports.makeAsyncIterator()
    var highest = 0
    var meanwhile = 0
    for round in 0..<3 {
      let run = try ProgramRun("restored-central", ["XDG_RUNTIME_DIR": folder.path])
      if round == 0 {
        for line in ["poweredOn", "connected", "notifying true"] {
          #expect(await run.next() == line)
        }
      } else {
        #expect(await run.next() == "restored 1 Counter notifying true")
        #expect(await run.next() == "poweredOn")
      }
      let values = try await Self.values(20, of: run)
      let first = try #require(values.first)
      #expect(values == Array(first..<first + 20))
      #expect(first > highest)
      if round > 0 { #expect(first < meanwhile, "a value that came meanwhile") }
      run.kill()
      // It may have printed more than was read.
      while let line = await run.next() {
        highest = line.split(separator: " ").last.flatMap { Int($0) } ?? highest
      }
      while let report = await closings.next() { if case .closed(_, _, nil) = report { break } }
      // Some values come without a process.
      meanwhile = await numbers.wait(for: 5)
    }
    await hub.close()
    await host.close()
    await radio.close()
    try FileManager.default.removeItem(at: folder)
  }
}

/// The numbers of a device, for those that wait for one.
private final class DeviceNumbers: Sendable {
  private let last = Atomic(0)
  private let numbers: AsyncStream<Int>
  private let continuation: AsyncStream<Int>.Continuation

  init() {
    (numbers, continuation) = AsyncStream.makeStream(
      of: Int.self, bufferingPolicy: .bufferingNewest(1))
  }

  /// The next number, on the device's thread.
  func next() -> Int {
    let number = last.add(1, ordering: .relaxed).newValue
    continuation.yield(number)
    return number
  }

  /// Waits until this number of others has come; returns the last one.
  func wait(for count: Int) async -> Int {
    let first = last.load(ordering: .relaxed)
    for await number in numbers where number >= first + count { return number }
    return first
  }
}
