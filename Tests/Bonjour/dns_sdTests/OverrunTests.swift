import CDNSServiceDiscovery
import Glibc
import Synchronization
import Testing

@testable import dns_sd

@Suite("A C client that doesn't listen", .timeLimit(.minutes(5)))
struct OverrunTests {
  /// A reference whose callback yields these texts.
  private func reference(
    _ name: String, as kind: Reference.Kind = .query, on connection: DNSServiceRef? = nil,
    _ told: AsyncStream<String>.Continuation
  ) throws -> (DNSServiceRef, Reference) {
    var ref = connection
    let flags = connection == nil ? 0 : DNSServiceFlags(kDNSServiceFlagsShareConnection)
    let code = Reference.start(&ref, flags, kind) { (reference) throws(ServiceError) in
      try reference.fail { error in
        Reply(reference: reference, flags: 0) { _ in told.yield("\(name) \(error.code)") }
      }
    }
    #expect(code == noError)
    return (try #require(ref), try Reference.find(ref))
  }

  private func replies(_ count: Int, of reference: Reference) -> [Reply] {
    (0..<count).map { _ in Reply(reference: reference, flags: 0) { _ in } }
  }

  /// A queue of the process's libdispatch, which is never let go of.
  private func queue() throws -> OpaquePointer {
    typealias Create = @convention(c) (UnsafePointer<CChar>, OpaquePointer?) -> OpaquePointer?
    let create = try #require(dlsym(nil, "dispatch_queue_create"))
    return try #require(unsafeBitCast(create, to: Create.self)("test", nil))
  }

  /// Has a queue do all that it was given until now.
  private func finish(_ queue: OpaquePointer) throws {
    typealias Work = @convention(c) (UnsafeMutableRawPointer?) -> Void
    typealias Sync = @convention(c) (OpaquePointer, UnsafeMutableRawPointer?, Work) -> Void
    let sync = try #require(dlsym(nil, "dispatch_sync_f"))
    unsafeBitCast(sync, to: Sync.self)(queue, nil) { _ in }
  }

  @Test("an overrun is reported once on the dispatch queue, by each of the callbacks")
  func onAQueue() async throws {
    let (stream, told) = AsyncStream.makeStream(of: String.self)
    let (connection, one) = try reference("one", told)
    let (_, other) = try reference("other", on: connection, told)
    one.replies.append(replies(ReplyQueue.Limits.repliesMax, of: other))
    one.replies.append(replies(1, of: one))
    #expect(one.replies.isOverrun)
    let queue = try queue()
    #expect(DNSServiceSetDispatchQueue(connection, queue) == noError)
    var iterator = stream.makeAsyncIterator()
    let code = ServiceError.notRunning.code
    let texts = [await iterator.next(), await iterator.next()]
    #expect(Set(texts) == ["one \(code)", "other \(code)"])
    // A second report would come before this.
    one.replies.append(replies(1, of: one))
    try finish(queue)
    DNSServiceRefDeallocate(connection)
    told.yield("end")
    #expect(await iterator.next() == "end")
  }

  @Test("an overrun is returned by the next call, and the connection takes no more requests")
  func byProcessing() throws {
    let (_, told) = AsyncStream.makeStream(of: String.self)
    let (connection, reference) = try reference("one", told)
    defer { DNSServiceRefDeallocate(connection) }
    reference.replies.append(replies(ReplyQueue.Limits.repliesMax + 1, of: reference))
    #expect(DNSServiceProcessResult(connection) == ServiceError.notRunning.code)
    var ref: DNSServiceRef? = connection
    let flags = DNSServiceFlags(kDNSServiceFlagsShareConnection)
    let code = DNSServiceBrowse(
      &ref, flags, 0, "_lamp._tcp", nil, { _, _, _, _, _, _, _, _ in }, nil)
    #expect(code == ServiceError.notRunning.code && ref == nil)
  }

  @Test("an overrun connection takes no more records")
  func registersNoRecord() throws {
    let (_, told) = AsyncStream.makeStream(of: String.self)
    let (connection, reference) = try reference("one", as: .connection, told)
    defer { DNSServiceRefDeallocate(connection) }
    reference.replies.append(replies(ReplyQueue.Limits.repliesMax + 1, of: reference))
    var record: DNSRecordRef?
    let flags = DNSServiceFlags(kDNSServiceFlagsShared)
    let code = DNSServiceRegisterRecord(
      connection, &record, flags, 0, "lamp.local.", 1, 1, 4, [192, 0, 2, 1] as [UInt8], 0,
      { _, _, _, _, _ in }, nil)
    #expect(code == ServiceError.notRunning.code && record == nil)
  }

  @Test("a reference that shares a connection and is deallocated is not kept by it")
  func subordinateThatLeft() throws {
    let (_, told) = AsyncStream.makeStream(of: String.self)
    let (connection, _) = try reference("one", told)
    defer { DNSServiceRefDeallocate(connection) }
    weak var left: Reference?
    do {
      let (handle, reference) = try reference("other", on: connection, told)
      left = reference
      DNSServiceRefDeallocate(handle)
    }
    #expect(left == nil)
  }
}
