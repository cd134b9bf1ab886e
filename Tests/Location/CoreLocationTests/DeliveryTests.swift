import BluetoothHost
import Essentials
import SimulatedRadio
import Synchronization
import Testing

@testable import CoreLocation

@Suite("Where delegates are called")
struct DeliveryTests {
  /// Runs a body on a thread of its own, which has a run loop of its own.
  private func onThread(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
      let thread = Thread {
        body()
        continuation.resume()
      }
      thread.start()
    }
  }

  /// Writes down the threads on which it is called.
  private final class Threads: NSObject, CLLocationManagerDelegate, Sendable {
    let isExpected = Mutex<[Bool]>([])
    let thread = Mutex<ObjectIdentifier?>(nil)
    func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) {
      let isSame = thread.withLock { $0 } == ObjectIdentifier(Thread.current)
      isExpected.withLock { $0.append(isSame) }
    }
  }

  @Test("delegates are called on the run loop of the manager's thread when that runs")
  func runLoop() async {
    let room = Mutex(BeaconRoom())
    let threads = Threads()
    let (radio, phone) = room.withLock { ($0.radio, $0.phone) }
    await onThread {
      threads.thread.withLock { $0 = ObjectIdentifier(Thread.current) }
      let manager = BluetoothHost.$current.withValue(phone) { CLLocationManager() }
      manager.delegate = threads
      // On another thread, so that only the run loop can call.
      let done = DispatchSemaphore(value: 0)
      DispatchQueue.global().async {
        radio.advance(by: .seconds(1))
        done.signal()
      }
      done.wait()
      #expect(threads.isExpected.withLock { $0.isEmpty })
      while threads.isExpected.withLock({ $0.isEmpty }),
        RunLoop.current.run(mode: .default, before: .distantFuture)
      {}
      #expect(threads.isExpected.withLock { $0 } == [true])
      withExtendedLifetime(manager) {}
    }
  }

  /// Writes down which authorizations it was told, and whether that was on the main queue.
  private final class MainQueueObserver: NSObject, CLLocationManagerDelegate, Sendable {
    let isOnMainQueue = Mutex<[Bool]>([])
    private let key = DispatchSpecificKey<Bool>()
    override init() {
      super.init()
      DispatchQueue.main.setSpecific(key: key, value: true)
    }
    func locationManagerDidChangeAuthorization(_ manager: CLLocationManager) {
      let isOn = DispatchQueue.getSpecific(key: key) ?? false
      isOnMainQueue.withLock { $0.append(isOn) }
    }
  }

  /// A manager that another thread creates.
  private final class Kept: Sendable {
    let manager = Mutex<CLLocationManager?>(nil)
  }

  @Test("a manager that is created in a task calls its delegate on the main queue")
  func task() async throws {
    let room = Mutex(BeaconRoom())
    let observer = MainQueueObserver()
    let (radio, phone) = room.withLock { ($0.radio, $0.phone) }
    let kept = Kept()
    await Task.detached {
      let manager = BluetoothHost.$current.withValue(phone) { CLLocationManager() }
      manager.delegate = observer
      kept.manager.withLock { $0 = manager }
    }.value
    // Another thread, which is not the task's.
    await onThread { radio.advance(by: .seconds(1)) }
    #expect(observer.isOnMainQueue.withLock { $0 } == [true])
    kept.manager.withLock { $0 = nil }
  }

  @Test("a manager that was created on the main queue calls its delegate there")
  func mainQueue() async throws {
    let room = Mutex(BeaconRoom())
    let observer = MainQueueObserver()
    let (radio, phone) = room.withLock { ($0.radio, $0.phone) }
    let kept = Kept()
    await withCheckedContinuation { continuation in
      DispatchQueue.main.async {
        let manager = BluetoothHost.$current.withValue(phone) { CLLocationManager() }
        manager.delegate = observer
        kept.manager.withLock { $0 = manager }
        continuation.resume()
      }
    }
    await onThread { radio.advance(by: .seconds(1)) }
    #expect(observer.isOnMainQueue.withLock { $0 } == [true])
    kept.manager.withLock { $0 = nil }
  }

  @Test("a delegate that can't be called because its run loop doesn't run is logged, once")
  func unserved() async throws {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardErrorContent]
    ) {
      let room = BeaconRoom()
      let (radio, phone) = (room.radio, room.phone)
      let kept = Kept()
      await withCheckedContinuation { continuation in
        Thread {
          kept.manager.withLock {
            $0 = BluetoothHost.$current.withValue(phone) { CLLocationManager() }
          }
          continuation.resume()
        }.start()
      }
      radio.advance(by: .seconds(60))
      kept.manager.withLock { $0 = nil }
      // One that is called has nothing to log.
      let recorder = LocationRecorder()
      let manager = BluetoothHost.$current.withValue(phone) { CLLocationManager() }
      manager.delegate = recorder
      radio.advance(by: .seconds(60))
      exit(recorder.lines.isEmpty ? 1 : 0)
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(text.components(separatedBy: "delegate is not called").count == 2, "\(text)")
  }

  @Test("a manager of a thread whose run loop never runs neither fails nor holds up the others")
  func neverRun() async {
    let room = Mutex(BeaconRoom())
    let (radio, phone) = room.withLock { ($0.radio, $0.phone) }
    let kept = Mutex<CLLocationManager?>(nil)
    await onThread {
      let manager = BluetoothHost.$current.withValue(phone) { CLLocationManager() }
      manager.startRangingBeacons(satisfying: CLBeaconIdentityConstraint(uuid: BeaconRoom.uuid))
      kept.withLock { $0 = manager }
    }
    radio.advance(by: .seconds(120))
    #expect(kept.withLock { $0?.rangedBeaconConstraints.count } == 1)
    kept.withLock { $0 = nil }
    radio.advance(by: .seconds(1))
  }

  // MARK: What waits

  private let hall = CLBeaconRegion(uuid: BeaconRoom.uuid, identifier: "hall")

  private func waiting(_ notices: [DelegateCall]) -> [String] {
    var waiting: ArraySlice<DelegateCall> = []
    for notice in notices { notice.add(to: &waiting) }
    return waiting.map { notice in
      switch notice {
      case .entered(let region): "entered \(region.identifier)"
      case .exited(let region): "exited \(region.identifier)"
      case .determined(let state, let region): "\(state) \(region.identifier)"
      case .ranged(let beacons, _): "ranged \(beacons.count)"
      default: "other"
      }
    }
  }

  @Test("only the last transitions of a region that changed while no delegate was called are kept")
  func transitionsCoalesce() {
    #expect(waiting([.entered(hall), .exited(hall)]) == ["entered hall", "exited hall"])
    #expect(waiting([.entered(hall), .exited(hall), .entered(hall)]) == ["entered hall"])
    var many: [DelegateCall] = []
    for _ in 0..<1_000 {
      many += [
        .entered(hall), .determined(.inside, hall), .exited(hall), .determined(.outside, hall),
      ]
    }
    #expect(waiting(many) == ["entered hall", "exited hall", "outside hall"])
  }

  @Test("only the last of many reports is kept until the delegate is called")
  func reportsCoalesce() {
    let constraint = hall.beaconIdentityConstraint
    let reports = (0..<1_000).map { _ in DelegateCall.ranged([], constraint) }
    #expect(waiting(reports + [.ranged([CLBeacon()], constraint)]) == ["ranged 1"])
  }

  @Test("pending calls that a program causes itself are bounded, too")
  func bound() {
    let notices = (0..<3_000).map { number in
      DelegateCall.monitoringFailed(
        CLRegion(identifier: "\(number)"), CLError(.regionMonitoringFailure))
    }
    #expect(waiting(notices).count == Limits.noticesMax)
  }
}
