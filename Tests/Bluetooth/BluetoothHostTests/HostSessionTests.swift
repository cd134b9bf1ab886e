import BluetoothHost
import BluetoothInterface
import Essentials
import SimulatedRadio
import Simulation
import Synchronization
import Testing

@Suite("Sessions with a host")
struct HostSessionTests {
  private let radio = VirtualRadio(seed: 1)

  /// A host as its clients see it.
  private func makeHost() -> any HostSessionProvider { radio.makeHost(name: "phone") }

  @Test("the first event of a session is the radio's state, and a barrier is completed")
  func events() {
    let events = Mutex<[HostEvent]>([])
    let session = makeHost().openSession { event in events.withLock { $0.append(event) } }
    session.send(.barrier(RequestToken(rawValue: 7)))
    radio.advance(by: .seconds(1))
    let received = events.withLock { $0 }
    guard case .stateChanged = received.first else {
      Issue.record("\(received)")
      return
    }
    #expect(
      received.contains {
        if case .completed(RequestToken(rawValue: 7), _) = $0 { true } else { false }
      })
  }

  @Test("the loop of a session has the time and the calendar time of the host")
  func clock() {
    let session = makeHost().openSession { _ in }
    radio.advance(by: .seconds(3))
    let time = Mutex<Instant?>(nil)
    session.loop.execute { time.withLock { $0 = session.loop.now } }
    radio.advance(by: .zero)
    #expect(time.withLock { $0 } == .zero + .seconds(3))
    #expect(session.loop.calendarTime == 3)
  }

  @Test("a timer of a session's loop rings once, in virtual time, and not when it was cancelled")
  func timers() {
    let session = makeHost().openSession { _ in }
    let rings = Mutex<[Instant]>([])
    let timers = Mutex<[LoopTimerBox]>([])
    session.loop.execute {
      for isCancelled in [false, true] {
        let timer = session.loop.makeTimer {
          rings.withLock { $0.append(session.loop.now) }
        }
        timer.set(.zero + .seconds(2))
        if isCancelled { timer.cancel() }
        timers.withLock { $0.append(LoopTimerBox(timer: timer)) }
      }
    }
    radio.advance(by: .seconds(10))
    #expect(rings.withLock { $0 } == [.zero + .seconds(2)])
  }

  @Test("events count as handled by themselves in a session that does not acknowledge them")
  func acknowledgement() {
    let requestedCount = Mutex(0)
    let count: @Sendable ([HostEvent]) -> Void = { events in
      for case .acknowledgementRequested in events { requestedCount.withLock { $0 += 1 } }
    }
    let session = makeHost().openSession(
      acknowledgesEvents: false, settle: nil, onEvents: count)
    for number: UInt64 in 0..<10_000 { session.send(.barrier(RequestToken(rawValue: number))) }
    radio.advance(by: .seconds(1))
    #expect(requestedCount.withLock { $0 } == 0)
  }

  @Test("a closed session has no more events")
  func closing() {
    let count = Mutex(0)
    let session = makeHost().openSession { _ in count.withLock { $0 += 1 } }
    radio.advance(by: .zero)
    session.close()
    let before = count.withLock { $0 }
    session.send(.barrier(RequestToken(rawValue: 1)))
    radio.advance(by: .seconds(2))
    #expect(before > 0)
    #expect(count.withLock { $0 } == before)
  }

  @Test("a host on a simulated radio is simulated, and one on a controller is not")
  func simulation() async throws {
    #expect(makeHost().isSimulated)
    let host = try BluetoothHost(radio: .unix(path: "/nowhere"))
    #expect(!host.isSimulated)
    await host.close()
  }
}

/// Keeps a timer, which is used on its loop only.
private struct LoopTimerBox: @unchecked Sendable {
  let timer: any LoopTimer
}
