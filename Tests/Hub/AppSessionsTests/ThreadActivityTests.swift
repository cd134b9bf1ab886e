import AppSessions
import Dispatch
import Foundation
import Synchronization
import Testing

/// Each in a process of its own, whose other threads are the test's.
@Suite(.timeLimit(.minutes(1)))
struct ThreadActivityTests {
  @Test func `Work of another thread is waited for however long it runs`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let group = DispatchGroup()
      group.enter()
      Thread.detachNewThread {
        // Much longer than the pause after which a quiet process is given up.
        let end = DispatchTime.now().uptimeNanoseconds + 300_000_000
        while DispatchTime.now().uptimeNanoseconds < end {}
        group.leave()
      }
      exit(ThreadActivity.wait(for: group) ? 7 : 1)
    }
  }

  @Test func `Work of a task that goes on at another task's end is waited for`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let group = DispatchGroup()
      group.enter()
      Task {
        for _ in 0..<1_000 { await Task.yield() }
        let sum = await Task.detached { (0..<100_000).reduce(0, &+) }.value
        if sum > 0 { group.leave() }
      }
      Thread.detachNewThread { exit(ThreadActivity.wait(for: group) ? 7 : 1) }
      while true { await Task.yield() }
    }
  }

  @Test func `Work that nothing in the process can end is given up`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let group = DispatchGroup()
      group.enter()
      exit(ThreadActivity.wait(for: group) ? 1 : 7)
    }
  }
}
