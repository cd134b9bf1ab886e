import Dispatch
import Foundation
import OpenCombine
import OpenCombineDispatch
import Synchronization

/// Virtual time for OpenCombine, which has none of its own.
final class VirtualScheduler: OpenCombine.Scheduler {
  typealias SchedulerTimeType = DispatchQueue.OCombine.SchedulerTimeType
  typealias SchedulerOptions = Never

  private final class Job: Cancellable {
    var date: SchedulerTimeType
    let interval: SchedulerTimeType.Stride?
    let action: () -> Void
    private(set) var isCancelled = false

    init(
      _ date: SchedulerTimeType, every interval: SchedulerTimeType.Stride?,
      _ action: @escaping () -> Void
    ) {
      self.date = date
      self.interval = interval
      self.action = action
    }

    func cancel() { isCancelled = true }
  }
  /// In the order of their dates, the last first.
  private var jobs: [Job] = []
  private(set) var now = SchedulerTimeType(DispatchTime(uptimeNanoseconds: 1))
  let minimumTolerance = SchedulerTimeType.Stride.nanoseconds(0)

  func schedule(options: SchedulerOptions?, _ action: @escaping () -> Void) {
    insert(Job(now, every: nil, action))
  }

  func schedule(
    after date: SchedulerTimeType, tolerance: SchedulerTimeType.Stride,
    options: SchedulerOptions?, _ action: @escaping () -> Void
  ) {
    insert(Job(date, every: nil, action))
  }

  func schedule(
    after date: SchedulerTimeType, interval: SchedulerTimeType.Stride,
    tolerance: SchedulerTimeType.Stride, options: SchedulerOptions?,
    _ action: @escaping () -> Void
  ) -> any Cancellable {
    let job = Job(date, every: interval, action)
    insert(job)
    return job
  }

  private func insert(_ job: Job) {
    let index = jobs.firstIndex { $0.date <= job.date } ?? jobs.endIndex
    jobs.insert(job, at: index)
  }

  func advance(by stride: SchedulerTimeType.Stride) {
    let end = now.advanced(by: stride)
    while let next = jobs.last, next.date <= end {
      jobs.removeLast()
      guard !next.isCancelled else { continue }
      now = max(now, next.date)
      next.action()
      guard let interval = next.interval, !next.isCancelled else { continue }
      next.date = next.date.advanced(by: interval)
      insert(next)
    }
    now = end
  }
}

/// A subject written by hand: observers under a lock, delivered to serially.
final class HandmadeSubject: Sendable {
  typealias Observer = @Sendable (Int) -> Void

  private let observers = Mutex<[(id: Int, call: Observer)]>([])
  private let delivery = Mutex<Void>(())

  func observe(_ observer: @escaping Observer) -> Int {
    observers.withLock { observers in
      let id = (observers.last?.id ?? 0) + 1
      observers.append((id, observer))
      return id
    }
  }

  func remove(_ id: Int) {
    observers.withLock { $0.removeAll { $0.id == id } }
  }

  func send(_ value: Int) {
    delivery.withLock { _ in
      for observer in observers.withLock({ $0 }) { observer.call(value) }
    }
  }
}

/// Runs `body` on two threads at once, and returns when both are done.
func onTwoThreads(_ body: @escaping @Sendable () -> Void) {
  let threads = (0..<2).map { _ in
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      body()
      done.signal()
    }
    return done
  }
  for done in threads { done.wait() }
}
