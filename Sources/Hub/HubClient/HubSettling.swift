import Dispatch
import EventLoop

/// Waits for the clients of sessions whose hub has virtual time, before that advances. Used on its loop only.
final class HubSettling {
  private let loop: EpollLoop
  /// Where it waits for clients, so that the loop is free for what they wait for themselves.
  private let queue = DispatchQueue(label: "ambit.hub.settling")
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

  /// The hub waits. A hub that asks several times has the last number answered when all is done; the earlier ones at
  /// once after it.
  func begin(_ number: UInt64) {
    if let earlier = self.number { waiting.append(earlier) }
    self.number = number
    if !isWaiting { settle() }
  }

  private var waiting: [UInt64] = []

  /// The connection has ended: nobody waits.
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
    queue.async { [loop] in
      EventThread.run { for slot in slots where slot.isOpen { slot.settle?() } }
      // Behind the requests that the clients have made.
      loop.execute {
        settling.value.isWaiting = false
        settling.value.settle()
      }
    }
  }
}
