// The functions that `cover-flow-engine.js` calls. A module holds one cover flow; a page with several makes an
// instance of the module for each.

// A page calls from one thread, and so do tests.
nonisolated(unsafe) private var instance = PageInstance(count: 0, slotCount: 3, imageCapacity: 0)

/// Starts a new flow with the given numbers of items, elements and images. Returns the number of
/// elements.
@_cdecl("cover_flow_start")
public func start(_ count: Double, _ slotCount: Double, _ imageCapacity: Double) -> Int32 {
  unsafe instance.deallocate()
  unsafe instance = PageInstance(count: count, slotCount: slotCount, imageCapacity: imageCapacity)
  return unsafe Int32(instance.slotCount)
}

/// Handles an event: its kind, three numbers, its own time and the time now. Returns false if the
/// kind is unknown.
@_cdecl("cover_flow_event")
public func event(
  _ kind: Int32, _ a: Double, _ b: Double, _ c: Double, _ time: Double, _ now: Double
) -> Bool {
  unsafe instance.event(kind: kind, a: a, b: b, c: c, time: time, now: now)
}

/// Applies a change of the list: 0 inserts, 1 removes, 2 moves. Returns false if an index doesn't
/// exist.
@_cdecl("cover_flow_change")
public func change(_ kind: Int32, _ a: Double, _ b: Double, _ now: Double) -> Bool {
  unsafe instance.change(kind: kind, a: a, b: b, now: now)
}

/// Sets the new index of the next slot's item for `cover_flow_reset`, in the order of slots;
/// negative if the item is gone.
@_cdecl("cover_flow_keep")
public func keep(_ index: Double) {
  unsafe instance.keep(index: index)
}

/// Replaces the list by one of `count` items. Returns false if `count` is out of range.
@_cdecl("cover_flow_reset")
public func reset(_ count: Double, _ now: Double) -> Bool {
  unsafe instance.reset(count: count, now: now)
}

/// Advances to a time, and writes the frame of each slot: index, x, z, angle, rank, and 1 if the
/// cover is visible plus 2 if its back is. The index is -1 for an empty slot.
@_cdecl("cover_flow_frame")
public func frame(_ now: Double) {
  unsafe instance.frame(now: now)
}

/// The address of the buffer that `cover_flow_frame` writes to.
@_cdecl("cover_flow_frame_buffer")
public func frameBuffer() -> Int { unsafe instance.frameBuffer.address }

/// Writes the oldest actions, each as kind, slot, index and a flag, and removes them. Returns their
/// number.
@_cdecl("cover_flow_take_actions")
public func takeActions() -> Int32 { unsafe Int32(instance.takeActions()) }

/// The address of the buffer that `cover_flow_take_actions` writes to.
@_cdecl("cover_flow_action_buffer")
public func actionBuffer() -> Int { unsafe instance.actionBuffer.address }

/// A property of the flow, by its number in `cover-flow-engine.js`. NaN for an unknown number.
@_cdecl("cover_flow_query")
public func query(_ kind: Int32) -> Double { unsafe instance.query(kind: kind) }

/// The item whose cover is visible at a point, in points from the middle of the stage; -1 for none.
@_cdecl("cover_flow_hit_test")
public func hitTest(_ x: Double, _ y: Double) -> Double {
  unsafe Double(instance.hitTest(x: x, y: y))
}

/// Sets the image that a slot shows or waits for, so that it is kept; 0 for none.
@_cdecl("cover_flow_image_use")
public func useImage(_ slot: Int32, _ key: UInt32) {
  unsafe instance.useImage(slot: slot, key: key)
}

/// Requests an image. Returns its place if it is loaded; -1 if it is loading, -2 if it can't be
/// loaded, -3 if all places are in use; -4 if the caller must load it, with the ticket that
/// `cover_flow_image_place` and `cover_flow_image_attempt` return. Then the previous image in that
/// place must be dropped.
@_cdecl("cover_flow_image_request")
public func requestImage(_ key: UInt32) -> Int32 { unsafe Int32(instance.requestImage(key: key)) }

/// The place of the last ticket.
@_cdecl("cover_flow_image_place")
public func imagePlace() -> Int32 { unsafe Int32(instance.ticketPlace) }

/// The attempt of the last ticket.
@_cdecl("cover_flow_image_attempt")
public func imageAttempt() -> UInt32 { unsafe instance.ticketAttempt }

/// Completes a ticket's attempt. Returns the image's key if it may be shown, and 0 if it is not
/// needed any more.
@_cdecl("cover_flow_image_finish")
public func finishImage(_ place: Int32, _ attempt: UInt32, _ isLoaded: Bool) -> UInt32 {
  unsafe instance.finishImage(place: place, attempt: attempt, isLoaded: isLoaded)
}

/// Removes an image, because it changed or isn't needed. Returns its place, or -1.
@_cdecl("cover_flow_image_remove")
public func removeImage(_ key: UInt32) -> Int32 { unsafe Int32(instance.removeImage(key: key)) }
