public import Essentials

/// What happens to a cover flow. Points are measured from the middle of the stage, to the right and down.
public enum CoverFlowEvent: Hashable, Sendable {
  /// The stage has another size, or the covers another shape, their height divided by their width.
  case resize(width: Double, height: Double, coverAspect: Double)
  /// A finger, pen or button went down. It holds what moves.
  case pointerDown(x: Double, y: Double, at: Instant)
  /// The finger is at another place. One event for each place of a coalesced event, with its own time.
  case pointerMove(x: Double, at: Instant)
  /// The finger was lifted: the covers glide on, or it was a tap.
  case pointerUp(x: Double, y: Double, at: Instant)
  /// The finger is used for something else, such as scrolling the page.
  case pointerCancel
  /// A wheel or trackpad moved by a number of covers; a notch of a wheel is one.
  case wheel(covers: Double)
  /// Brings the cover this many covers to the right to the front: arrow keys, with 1 and -1.
  case step(Int)
  /// The same, a page at a time.
  case page(Int)
  /// A cover comes to the front: also End, with the greatest index. While a finger holds the covers they
  /// stay, and go there when it is lifted.
  case go(to: Int)
  /// The same without a motion.
  case jump(to: Int)
  /// The covers glide as if a finger had let go at a speed, in covers per second.
  case fling(velocity: Double)
  /// The cover in front is selected: the space bar.
  case select
  /// The cover in front is turned over, or back: the Enter key.
  case flip
  /// The cover in front is turned back: Escape.
  case flipBack
  /// Whether to jump instead of moving: the user's setting for reduced motion.
  case reduceMotion(Bool)
}

/// How the list of items changes. The cover at the front stays there.
public enum CoverFlowChange: Hashable, Sendable {
  /// An item was added, and has this index now.
  case insert(at: Int)
  /// The item with this index was removed.
  case remove(at: Int)
  /// An item was taken from one index and then inserted at another.
  case move(from: Int, to: Int)
  /// The list was replaced.
  ///
  /// `indices` has, in the order of slots, the new index of each item that a slot shows; nil if the
  /// item is gone. Missing elements at its end count as nil.
  case reset(count: Int, indices: [Int?])
}

/// An action for the view that owns the machine.
public enum CoverFlowAction: Hashable, Sendable {
  /// A slot's element shows this item from now on. Nothing of the item before may remain.
  case assign(slot: Int, index: Int)
  /// A slot's element shows nothing from now on.
  case vacate(slot: Int)
  /// A slot's item will be looked at: its image is wanted. Once for each assignment.
  case load(slot: Int, index: Int)
  /// Another item is nearest to the middle; nil where there are no items.
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
