import BluetoothHost
import CoreBluetooth
import Essentials
import SimulatedRadio
import Simulation
import Testing

@testable import CoreLocation

@Suite("What a program monitors outlives it", .timeLimit(.minutes(10)))
struct RestartTests {
  private let room = BeaconRoom()
  private let folder: LocationFolder
  private let region = CLBeaconRegion(uuid: BeaconRoom.uuid, major: 1, identifier: "hall")

  init() throws { folder = try LocationFolder() }

  @Test("regions are there again as they were started, until they are stopped")
  func regions() async throws {
    let first = ProgramRun(room, folder)
    region.notifyOnExit = false
    region.notifyEntryStateOnDisplay = true
    first.start(region)
    first.start(CLBeaconRegion(uuid: BeaconRoom.uuid, major: 2, minor: 3, identifier: "case"))
    first.start(CLBeaconRegion(uuid: BeaconRoom.uuid, identifier: "gone"))
    first.manager?.stopMonitoring(
      for: CLBeaconRegion(uuid: BeaconRoom.uuid, identifier: "gone"))
    try await first.end()

    let second = ProgramRun(room, folder)
    let monitored = try #require(second.manager).monitoredRegions
    #expect(monitored.map(\.identifier).sorted() == ["case", "hall"])
    let hall = try #require(monitored.first { $0.identifier == "hall" } as? CLBeaconRegion)
    #expect(hall.beaconIdentityConstraint == region.beaconIdentityConstraint)
    #expect(hall.notifyOnEntry && !hall.notifyOnExit && hall.notifyEntryStateOnDisplay)
    let other = try #require(monitored.first { $0.identifier == "case" } as? CLBeaconRegion)
    #expect(other.major == 2 && other.minor == 3 && other.notifyOnExit)
    for region in monitored { second.manager?.stopMonitoring(for: region) }
    try await second.end()

    let third = ProgramRun(room, folder)
    #expect(third.manager?.monitoredRegions == [])
  }

  @Test("a region that was left while the program was away is left when it is back")
  func leftMeanwhile() async throws {
    let first = ProgramRun(room, folder)
    first.start(region)
    let beacon = room.addBeacon(minor: 1)
    room.radio.advance(by: .seconds(2))
    #expect(first.recorder.lines.suffix(2) == ["entered hall", "inside hall"])
    try await first.end()
    beacon.stopAdvertising()
    room.radio.advance(by: .seconds(5))

    let second = ProgramRun(room, folder)
    room.radio.advance(by: .seconds(28))
    #expect(second.recorder.take() == ["authorization authorizedAlways"])
    room.radio.advance(by: .seconds(4))
    #expect(second.recorder.take() == ["exited hall", "outside hall"])
    try await second.end()

    let third = ProgramRun(room, folder)
    room.radio.advance(by: .seconds(40))
    #expect(third.recorder.take() == ["authorization authorizedAlways", "outside hall"])
  }

  @Test("a region that was entered before is not entered again, and its state is reported")
  func stillInside() async throws {
    let first = ProgramRun(room, folder)
    first.start(region)
    room.addBeacon(minor: 1)
    room.radio.advance(by: .seconds(2))
    try await first.end()

    let second = ProgramRun(room, folder)
    room.radio.advance(by: .seconds(60))
    #expect(second.recorder.take() == ["authorization authorizedAlways", "inside hall"])
  }

  @Test("a region that was entered while the program was away is entered when it is back")
  func enteredMeanwhile() async throws {
    let first = ProgramRun(room, folder)
    first.start(region)
    room.radio.advance(by: .seconds(40))
    #expect(first.recorder.lines.last == "outside hall")
    try await first.end()
    room.addBeacon(minor: 1)

    let second = ProgramRun(room, folder)
    room.radio.advance(by: .seconds(2))
    #expect(
      second.recorder.take() == ["authorization authorizedAlways", "entered hall", "inside hall"])
  }

  @Test("a program that may not use location services any more keeps its regions, unknown")
  func denied() async throws {
    let first = ProgramRun(room, folder)
    first.start(region)
    room.addBeacon(minor: 1)
    room.radio.advance(by: .seconds(2))
    try await first.end()

    let second = ProgramRun(room, folder, policy: .denied)
    second.manager?.requestState(for: region)
    room.radio.advance(by: .seconds(60))
    #expect(second.recorder.take() == ["authorization denied", "unknown hall"])
    #expect(second.manager?.monitoredRegions == [region])
  }

  @Test("a program that is killed loses neither its regions nor the exit that follows")
  func killed() async throws {
    let path = folder.path
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      let room = BeaconRoom()
      let run = ProgramRun(room, LocationFolder(borrowing: path))
      run.start(CLBeaconRegion(uuid: BeaconRoom.uuid, major: 1, identifier: "hall"))
      room.addBeacon(minor: 1)
      room.radio.advance(by: .seconds(2))
      await run.settle()
      kill(getpid(), SIGKILL)
    }
    let second = ProgramRun(room, folder)
    #expect(second.manager?.monitoredRegions == [region])
    room.radio.advance(by: .seconds(40))
    #expect(
      second.recorder.take() == ["authorization authorizedAlways", "exited hall", "outside hall"])
  }

  @Test(
    "a program that is killed when a change of a condition has returned doesn't lose the change")
  func killedAfterChange() async throws {
    let path = folder.path
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      let room = BeaconRoom()
      let run = ProgramRun(room, LocationFolder(borrowing: path))
      let museum = await run.makeMonitor()
      for (number, name) in ["hall", "gone", "case"].enumerated() {
        let condition = CLMonitor.BeaconIdentityCondition(
          uuid: BeaconRoom.uuid, major: UInt16(number))
        await museum.add(condition, identifier: name, assuming: .unsatisfied)
      }
      await museum.remove("gone")
      kill(getpid(), SIGKILL)
    }
    let second = ProgramRun(room, folder)
    #expect(await second.makeMonitor().identifiers == ["hall", "case"])
  }

  @Test("a condition is added also where the disk can't be written")
  func unwritable() async throws {
    try FileManager.default.removeItem(atPath: folder.path)
    try Data().write(to: URL(filePath: folder.path))
    let run = ProgramRun(room, folder)
    let museum = await run.makeMonitor()
    await museum.add(all, identifier: "hall")
    #expect(await museum.identifiers == ["hall"])
    await museum.remove("hall")
    #expect(await museum.identifiers == [])
  }

  @Test("events while there is no manager wait for the next one")
  func noManager() async throws {
    let run = ProgramRun(room, folder)
    run.start(region)
    let keeper = await run.makeMonitor()
    await run.endManager()
    let beacon = room.addBeacon(minor: 1)
    room.radio.advance(by: .seconds(2))
    let recorder = LocationRecorder()
    var manager: CLLocationManager? = room.makeManager(recorder)
    #expect(recorder.take() == ["authorization authorizedAlways", "entered hall", "inside hall"])
    manager = nil
    beacon.stopAdvertising()
    room.radio.advance(by: .seconds(40))
    manager = room.makeManager(recorder)
    #expect(recorder.take() == ["authorization authorizedAlways", "exited hall", "outside hall"])
    manager?.stopMonitoring(for: region)
    #expect(await keeper.identifiers == [])
  }

  // MARK: Conditions

  private let all = CLMonitor.BeaconIdentityCondition(uuid: BeaconRoom.uuid)

  @Test("conditions are there again, each under its monitor, and an event that waited still waits")
  func conditions() async throws {
    let first = ProgramRun(room, folder)
    var museum: CLMonitor? = await first.makeMonitor()
    var shop: CLMonitor? = await first.makeMonitor("shop")
    await museum?.add(all, identifier: "hall")
    await museum?.add(
      CLMonitor.CircularGeographicCondition(
        center: .init(latitude: .nan, longitude: 8), radius: .infinity), identifier: "globe")
    await shop?.add(
      CLMonitor.BeaconIdentityCondition(uuid: BeaconRoom.uuid, major: 9), identifier: "door")
    room.addBeacon(major: 7, minor: 9)
    room.radio.advance(by: .seconds(2))
    let before = try #require(await museum?.record(for: "hall"))
    #expect(before.lastEvent.state == .satisfied)
    (museum, shop) = (nil, nil)
    try await first.end()

    let second = ProgramRun(room, folder)
    let again = await second.makeMonitor()
    #expect(await again.identifiers == ["hall", "globe"])
    let circle = await again.record(for: "globe")?.condition
    #expect((circle as? CLMonitor.CircularGeographicCondition)?.radius == .infinity)
    var events = await again.events.makeAsyncIterator()
    let waiting = [try await events.next(), try await events.next()].compactMap(\.self)
    let hall = try #require(waiting.first { $0.identifier == "hall" })
    #expect(hall.state == .satisfied && hall.date == before.lastEvent.date)
    #expect(
      hall.refinement as? CLMonitor.BeaconIdentityCondition
        == .init(uuid: BeaconRoom.uuid, major: 7, minor: 9))
    #expect(waiting.contains { $0.identifier == "globe" && $0.conditionUnsupported })
    #expect(await second.makeMonitor("shop").identifiers == ["door"])
  }

  @Test("a condition that changed while the program was away has an event, others have none")
  func changedConditions() async throws {
    let first = ProgramRun(room, folder)
    var museum: CLMonitor? = await first.makeMonitor()
    await museum?.add(all, identifier: "hall")
    await museum?.add(
      CLMonitor.BeaconIdentityCondition(uuid: BeaconRoom.uuid, major: 2), identifier: "second")
    let beacon = room.addBeacon(minor: 1)
    room.addBeacon(major: 2, minor: 1)
    room.radio.advance(by: .seconds(2))
    var taken = await museum?.events.makeAsyncIterator()
    _ = [try await taken?.next(), try await taken?.next()]
    taken = nil
    museum = nil
    try await first.end()
    beacon.stopAdvertising()
    room.beacons.last?.stopAdvertising()
    room.addBeacon(major: 3, minor: 1)

    let second = ProgramRun(room, folder)
    let again = await second.makeMonitor()
    room.radio.advance(by: .seconds(40))
    var events = await again.events.makeAsyncIterator()
    let event = try #require(try await events.next())
    #expect(event.identifier == "second" && event.state == .unsatisfied)
    #expect(!event.persistenceUnavailable)
    #expect(await again.record(for: "hall")?.lastEvent.state == .satisfied)
  }

  // MARK: Two processes

  @Test(
    "only the first of two processes of one program has the file; the second logs that it has none")
  func twoProcesses() async throws {
    let first = ProgramRun(room, folder)
    first.start(region)
    await first.settle()
    let kept = try folder.read()

    let otherRoom = BeaconRoom()
    let second = ProgramRun(otherRoom, folder)
    #expect(second.manager?.monitoredRegions == [])
    await second.settle()
    #expect(second.isUnavailable)
    second.start(CLBeaconRegion(uuid: BeaconRoom.uuid, identifier: "other"))
    let monitor = await second.makeMonitor()
    await monitor.add(all, identifier: "all")
    otherRoom.addBeacon(minor: 1)
    otherRoom.radio.advance(by: .seconds(2))
    #expect(second.recorder.lines.contains("entered other"))
    var events = await monitor.events.makeAsyncIterator()
    #expect(try await events.next()?.persistenceUnavailable == true)
    await second.endManager()
    #expect(try folder.read() == kept)
  }

  @Test("a process that began without a file takes none that another has made since")
  func lateSecond() async throws {
    let early = ProgramRun(room, folder)
    let otherRoom = BeaconRoom()
    let other = ProgramRun(otherRoom, folder)
    other.start(region)
    try await other.end()
    let kept = try folder.read()
    early.start(CLBeaconRegion(uuid: BeaconRoom.uuid, identifier: "mine"))
    try await early.end()
    #expect(early.isUnavailable)
    #expect(try folder.read() == kept)
  }
}
