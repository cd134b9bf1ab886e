import Essentials
import EventLoop

/// Waits for the clients of sessions whose hub has virtual time, before that advances. Used on its loop only.
final class HubSettling {
  private let loop: EpollLoop
  /// The sessions whose clients may have work.
  private var unsettled: [HubSessionSlot] = []
  /// The number that the hub waits for; nil for none.
  private var number: UInt64?
  private var isWaiting = false
  /// Reports that the clients have nothing left to do, with the number.
  var onSettled: ((UInt64) -> Void)?

  init(on loop: EpollLoop) { self.loop = loop }

  /// The client of a session may have work.
  func add(_ slot: HubSessionSlot) {
    guard slot.settle != nil, !unsettled.contains(where: { $0 === slot }) else { return }
    unsettled.append(slot)
  }

  /// The hub waits. A hub with several questions has the last number answered when all is done; the earlier ones at
  /// once after it.
  func begin(_ number: UInt64) {
    if let earlier = self.number { waiting.append(earlier) }
    self.number = number
    if !isWaiting { settle() }
  }

  private var waiting: [UInt64] = []

  /// The connection has ended, and with it the wait.
  func reset() {
    number = nil
    waiting = []
    unsettled = []
  }

  private func settle() {
    guard let number else { return }
    let slots = unsettled
    unsettled = []
    guard !slots.isEmpty else {
      self.number = nil
      let numbers = waiting + [number]
      waiting = []
      for number in numbers { onSettled?(number) }
      return
    }
    isWaiting = true
    let settling = LoopConfined(self, to: loop)
    // A thread of its own waits for the clients, so that the loop is free for what they wait for themselves.
    let hasStarted = DetachedThread.start { [loop] in
      EventThread.run { for slot in slots where slot.isOpen { slot.settle?() } }
      // Behind the requests that the clients have made.
      loop.execute {
        settling.value.isWaiting = false
        settling.value.settle()
      }
    }
    guard !hasStarted else { return }
    isWaiting = false
    unsettled = slots
    loop.schedule(in: Self.threadPause) { [weak self] in
      if let self, !isWaiting { settle() }
    }
  }

  /// Between two attempts to get a thread.
  private static let threadPause = TimeSpan.milliseconds(10)
}
