public import Essentials

/// Input of a cover flow. Points are measured from the middle of the stage, to the right and down.
public enum CoverFlowEvent: Hashable, Sendable {
  /// The size of the stage or the aspect ratio of the covers (height divided by width) changed.
  case resize(width: Double, height: Double, coverAspect: Double)
  /// A finger, pen or button went down. It stops a motion.
  case pointerDown(x: Double, y: Double, at: Instant)
  /// The finger moved. Send one event for each position of a coalesced event, with its own time.
  case pointerMove(x: Double, at: Instant)
  /// The finger was lifted: the covers continue to glide, or it was a tap.
  case pointerUp(x: Double, y: Double, at: Instant)
  /// The finger is used for another purpose, such as scrolling the page.
  case pointerCancel
  /// A wheel or trackpad was moved by a number of covers; a notch of a wheel is one.
  case wheel(covers: Double)
  /// Brings the cover this many covers to the right to the front: arrow keys, with 1 and -1.
  case step(Int)
  /// Brings the cover this many pages to the right to the front.
  case page(Int)
  /// Brings a cover to the front. The End key uses the greatest index. If a finger holds the
  /// covers, they move there when it is lifted.
  case go(to: Int)
  /// Brings a cover to the front without a motion.
  case jump(to: Int)
  /// The covers glide as if a finger had released them at a speed, in covers per second.
  case fling(velocity: Double)
  /// Selects the cover in front: the space bar.
  case select
  /// Turns the cover in front over, or back: the Enter key.
  case flip
  /// Turns the cover in front back: Escape.
  case flipBack
  /// Whether covers jump instead of moving: the user's setting for reduced motion.
  case reduceMotion(Bool)
}

/// A change of the list of items. The cover at the front stays there.
public enum CoverFlowChange: Hashable, Sendable {
  /// An item was added at this index.
  case insert(at: Int)
  /// The item with this index was removed.
  case remove(at: Int)
  /// An item was removed from one index and then inserted at another.
  case move(from: Int, to: Int)
  /// The list was replaced.
  ///
  /// `indices` has, in the order of slots, the new index of each item that a slot shows; nil if the
  /// item is gone. Missing elements at its end count as nil.
  case reset(count: Int, indices: [Int?])
}

/// Output of the machine: an action for the view.
public enum CoverFlowAction: Hashable, Sendable {
  /// The slot's element shows this item from now on. No content of the previous item may remain.
  case assign(slot: Int, index: Int)
  /// The slot's element shows no item from now on.
  case vacate(slot: Int)
  /// The slot's item will be visible, so its image is needed. Sent once for each assignment.
  case load(slot: Int, index: Int)
  /// Another item is nearest to the middle; nil if there are no items.
  case front(index: Int?)
  /// The covers came to rest with this item at the front.
  case settle(index: Int)
  /// Announce the item at the front to screen readers.
  case announce(index: Int)
  /// The cover at the front was tapped, or selected with the keyboard.
  case select(index: Int)
  /// The cover at the front is being turned over, or back.
  case flip(index: Int, isFlipped: Bool)
}
