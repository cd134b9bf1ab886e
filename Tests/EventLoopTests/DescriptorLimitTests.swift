import Essentials
import Glibc
import Testing

@testable import EventLoop

@Suite("The limit of descriptors")
struct DescriptorLimitTests {
  @Test(
    "a quarter of a low limit stays free, and 64 of a high one",
    arguments: [(16, 4), (64, 16), (256, 64), (1_024, 64), (.max, 64)] as [(UInt64, UInt64)])
  func reserve(limit: UInt64, reserve: UInt64) {
    #expect(DescriptorLimit.reserve(of: limit) == reserve)
  }

  @Test("there is room for fewer descriptors than connections at most, by those that are open")
  func room() {
    #expect(DescriptorLimit.freeMax < DescriptorLimit.connectionsMax)
    #expect(DescriptorLimit.freeMax > 0)
  }
}

@Suite("Shortages of descriptors")
struct DescriptorShortageTests {
  @Test func `Failures with less than a minute in between are one shortage`() {
    var episodes = DescriptorShortage.Episodes()
    let start = Instant(nanoseconds: 0)
    var beginnings: [Int64] = []
    // A listener that tries again each second, for an hour; and once more a minute later.
    for second in Array(0...Int64(3_600)) + [3_659, 3_719] {
      if episodes.failed(start + .seconds(second)) { beginnings.append(second) }
    }
    #expect(beginnings == [0, 3_719])
    #expect(episodes.count == 2)
  }

  @Test(arguments: [EMFILE, ENFILE, ENOMEM, ENOBUFS])
  func `Each shortage has a remedy in its text`(number: Int32) throws {
    let shortage = try #require(DescriptorShortage(errorNumber: number))
    #expect(
      shortage.text.contains("limit") || shortage.text.contains("sysctl")
        || shortage.text.contains("memory"))
  }

  @Test
  func
    `A loop that gets no descriptors of its own reports that once, and works when there are some`()
    async
  {
    // A process of its own, whose limit it sets.
    await #expect(processExitsWith: .success) {
      var limits = rlimit(rlim_cur: 128, rlim_max: 128)
      try #require(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0)
      var files: [Int32] = []
      while case let file = dup(0), file >= 0 { files.append(file) }
      let (reports, report) = AsyncStream.makeStream(of: Void.self)
      let observation = DescriptorShortage.observe { _ in report.yield() }
      let (ends, end) = AsyncStream.makeStream(of: Void.self)
      let loop = EpollLoop()
      loop.execute { end.yield() }
      for await _ in reports { break }
      for file in files { close(file) }
      for await _ in ends { break }
      #expect(DescriptorShortage.count == 1)
      withExtendedLifetime(observation) {}
    }
  }

  @Test func `Other errors of an accepted connection are no shortage`() {
    for number in [EAGAIN, EINTR, ECONNABORTED, EBADF] {
      #expect(DescriptorShortage(errorNumber: number) == nil)
    }
  }
}
