import BluetoothHost
import Dispatch
import Essentials
import PeripheralFiles
import SimulatedRadio
import Simulation

/// A simulated museum in which a visitor walks from exhibit to exhibit with a phone in hand, out of
/// the door, and in again. Its time is advanced by the caller: in a test at once, in the program by
/// the clock.
final class Tour: Sendable {
  /// The phone.
  let phone: BluetoothHost
  private let radio: VirtualRadio

  /// Makes the museum of a floor's file, and starts its first visitor.
  ///
  /// - Parameter seed: The seed for the randomness of radio propagation.
  init(floor file: [UInt8], seed: UInt64 = 1) throws(PeripheralFileError) {
    var floor = try FloorFile(file)
    // The phone is that of the first one only.
    for index in floor.walkers.indices { floor.walkers[index].hasPhone = index == 0 }
    radio = VirtualRadio(seed: seed)
    phone = radio.makeHost(name: "phone")
    let place = radio.withWorld { world in
      world.add(floor)
      return world.hostPlaces.first
    }
    if let place { radio.withController(of: phone) { $0.motion = place.motion } }
  }

  /// Lets time pass in the museum.
  func walk(for span: TimeSpan) { radio.advance(by: span) }

  /// Switches the phone's radio on or off.
  func setPowered(_ isPowered: Bool) {
    radio.withController(of: phone) { isPowered ? $0.powerOn() : $0.powerOff() }
  }

  /// Lets time pass by the clock, from now on.
  ///
  /// - Parameter speed: How much faster than the clock.
  func start(speed: Double) {
    schedule(speed, after: .now, on: DispatchQueue(label: "Tour"))
  }

  private static let interval = DispatchTimeInterval.milliseconds(50)
  private static let secondsMax = 0.2

  private func schedule(
    _ speed: Double, after last: ContinuousClock.Instant, on queue: DispatchQueue
  ) {
    queue.asyncAfter(deadline: .now() + Self.interval) { [self] in
      let now = ContinuousClock.now
      // A machine that can't follow, or was asleep, makes a slow walk of it, and not a leap.
      let passed = min((now - last) / .seconds(1), Self.secondsMax)
      walk(for: .nanoseconds(Int64(passed * speed * 1e9)))
      schedule(speed, after: now, on: queue)
    }
  }
}
