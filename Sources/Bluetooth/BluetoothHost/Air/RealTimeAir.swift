import Essentials
import EventLoop
import NIOCore
import Simulation

/// A world that lives in real time on an event loop.
final class RealTimeAir {
  let air: Air
  private let clock: EventLoopClock
  /// What the event loop's clock showed when the world's showed zero.
  private var origin: TimeSpan
  private var timer: (any LoopTimer)?
  private var timerSetFor: Instant?

  /// Starts the world's clock. On the event loop.
  init(world: World, on eventLoop: any EventLoop) {
    air = Air(world: world)
    clock = EventLoopClock(eventLoop: eventLoop)
    origin = clock.now - world.now
    let bound = NIOLoopBound(WeakAir(self), eventLoop: eventLoop)
    timer = clock.makeTimer { bound.value.air?.ring() }
    air.willInteract = { [weak self] in self?.catchUp() }
    air.didInteract = { [weak self] in self?.arm() }
    arm()
  }

  /// Where the world lives.
  var eventLoop: any EventLoop { clock.eventLoop }

  /// Keeps the loop awake while packets follow one another closely.
  var poller: BusyPoller { clock.poller }

  deinit { stop() }

  /// Stops the world's clock.
  func stop() {
    timer?.cancel()
    timer = nil
  }

  private final class WeakAir {
    weak var air: RealTimeAir?
    init(_ air: RealTimeAir) { self.air = air }
  }

  private func ring() {
    timerSetFor = nil
    catchUp()
    arm()
  }

  private func catchUp() {
    let now = clock.now
    var worldTime = Instant.zero + (now - (.zero + origin))
    // A process that was stopped, or a machine too slow for its world: the world waits with it
    // instead of living through everything in a rush.
    if let next = air.world.nextEventTime, worldTime - next > Limits.worldLag {
      worldTime = next + Limits.worldLag
      origin = now - worldTime
    }
    air.run(until: worldTime)
  }

  private func arm() {
    guard let next = air.world.nextEventTime else { return }
    if let timerSetFor, timerSetFor <= next { return }
    timerSetFor = next
    timer?.set(next + origin)
  }
}
