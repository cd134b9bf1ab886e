import Essentials
import EventLoop
import Simulation

/// A world that lives in real time on an event loop.
final class RealTimeAir {
  let air: Air
  /// What the event loop's clock showed when the world's showed zero.
  private var origin: TimeSpan
  private var timer: DeadlineTimer?

  /// Starts the world's clock. On the loop.
  init(world: World, on loop: EpollLoop) {
    air = Air(world: world)
    origin = .now - world.now
    timer = DeadlineTimer(loop.makeTimer { [weak self] in self?.timerFired() })
    air.willInteract = { [weak self] in self?.catchUp() }
    air.didInteract = { [weak self] in self?.setTimer() }
    setTimer()
  }

  deinit { stop() }

  /// Stops the world's clock.
  func stop() {
    timer?.cancel()
    timer = nil
  }

  private func timerFired() {
    timer?.fired()
    catchUp()
    setTimer()
  }

  private func catchUp() {
    let now = Instant.now
    var worldTime = Instant.zero + (now - (.zero + origin))
    // A process that was stopped, or a machine too slow for its world: the world waits with it
    // instead of living through everything in a rush.
    if let next = air.world.nextEventTime, worldTime - next > Limits.worldLag {
      worldTime = next + Limits.worldLag
      origin = now - worldTime
    }
    air.run(until: worldTime)
  }

  private func setTimer() { timer?.set(air.world.nextEventTime.map { $0 + origin }) }
}
