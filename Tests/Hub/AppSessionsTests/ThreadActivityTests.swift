import Dispatch
import Foundation
import Synchronization
import Testing

@testable import AppSessions

/// Each in a process of its own, whose other threads are the test's.
@Suite(.timeLimit(.minutes(5)))
struct ThreadActivityTests {
  @Test func `Work of another thread is waited for while it runs`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let group = DispatchGroup()
      group.enter()
      Thread.detachNewThread {
        // Much longer than the pause after which a quiet process is given up.
        let end = DispatchTime.now().uptimeNanoseconds + 300_000_000
        while DispatchTime.now().uptimeNanoseconds < end {}
        group.leave()
      }
      exit(ThreadActivity.wait(for: group) == .left ? 7 : 1)
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
      Thread.detachNewThread { exit(ThreadActivity.wait(for: group) == .left ? 7 : 1) }
      while true { await Task.yield() }
    }
  }

  @Test func `Work that nothing in the process can end is given up`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let group = DispatchGroup()
      group.enter()
      exit(ThreadActivity.wait(for: group) == .quiet ? 7 : 1)
    }
  }

  @Test func `A thread that computes on and on is not waited for`() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let group = DispatchGroup()
      group.enter()
      Thread.detachNewThread { while true {} }
      let end = ThreadActivity.wait(for: group, processorTimeMax: 0.2)
      exit(end == .busy ? 7 : 1)
    }
  }

  private typealias Kernel = ThreadWatch.Thread

  @Test func `A thread has its own bound of processor time, from the first look`() {
    var watch = ThreadWatch(ticksMax: 10)
    func thread(_ number: Int, _ ticks: UInt64, runs: Bool = true) -> Kernel {
      Kernel(number: number, isRunning: runs, ticks: ticks)
    }
    let looks: [(threads: [Kernel], hasWork: Bool)] = [
      ([thread(1, 500)], true), ([thread(1, 509)], true), ([thread(1, 510)], false),
      ([thread(1, 510), thread(2, 0)], true), ([thread(1, 520), thread(2, 10)], false),
    ]
    for look in looks {
      let hasWork = watch.hasWork(look.threads)
      #expect(hasWork == look.hasWork)
    }
    #expect(watch.ignoresThreads)
    let hasWork = watch.hasWork([thread(1, 520, runs: false), thread(2, 10, runs: false)])
    #expect(!hasWork)
    #expect(!watch.ignoresThreads)
  }

  @Test func `A thread is read from its file, whatever it is named and wherever that is cut`() {
    let text = "12 (a) S (b) R 1 2 3 4 5 6 7 8 9 10 700 55 0 0"
    #expect(Kernel(12, Array(text.utf8)) == Kernel(number: 12, isRunning: true, ticks: 755))
    for count in 0..<text.utf8.count {
      let thread = Kernel(12, Array(text.utf8.prefix(count)))
      #expect(thread.map { $0.ticks <= 755 } ?? true)
    }
    #expect(Kernel(12, Array("12 (b) S 1".utf8))?.isRunning == false)
  }
}
