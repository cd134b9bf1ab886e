import Essentials
import EventLoop

/// Waits for the clients of sessions whose hub has virtual time, before that advances. Used on its loop only.
final class HubSettling {
  private let loop: EpollLoop
  /// The sessions whose clients may have work.
  private var unsettled: [HubSessionSlot] = []
  /// The number that the hub waits for; nil for none.
  private var number: UInt64?
  /// Earlier numbers that are not answered.
  private var waiting: [UInt64] = []
  private var isWaiting = false
  /// Called before it is decided whether all is done. May add sessions.
  var onTurn: (() -> Void)?
  /// Whether timers are due, which fire in a turn of their own and then have `settle` called.
  var hasDue: (() -> Bool)?
  /// Reports that the clients have nothing left to do, with the number.
  var onSettled: ((UInt64) -> Void)?

  init(on loop: EpollLoop) { self.loop = loop }

  /// The client of a session may have work.
  func add(_ slot: HubSessionSlot) {
    guard slot.settle != nil, !unsettled.contains(where: { $0 === slot }) else { return }
    unsettled.append(slot)
  }

  /// Whether the hub waits for an answer.
  var isAsked: Bool { number != nil }

  /// The hub waits. A hub with several questions has all of them answered when all is done, in their order.
  func begin(_ number: UInt64) {
    if let earlier = self.number { waiting.append(earlier) }
    self.number = number
    if !isWaiting { settle() }
  }

  /// The connection has ended, and with it the wait.
  func reset() {
    number = nil
    waiting = []
    unsettled = []
  }

  /// Has sessions handle their work, or reports that all is done.
  func settle() {
    guard number != nil, !isWaiting else { return }
    onTurn?()
    guard let number, !isWaiting else { return }
    let slots = unsettled
    unsettled = []
    guard !slots.isEmpty else {
      if hasDue?() == true { return }
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
    loop.schedule(in: Self.threadPause) { [weak self] in self?.settle() }
  }

  /// Between two attempts to get a thread.
  private static let threadPause = TimeSpan.milliseconds(10)
}
