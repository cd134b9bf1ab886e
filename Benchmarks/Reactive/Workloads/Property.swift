import OpenCombine
import Reactive
import Synchronization

func propertyWorkloads() -> [Workload] {
  var workload = Workload("property, set and observed", events: 2_000_000)
  workload.add(.ours) { count in
    let property = MutableProperty(0)
    property.signal.observeValues { sum.add($0) }
    for value in 0..<count { property.value = value }
  }
  workload.add(.openCombine) { count in
    let subject = CurrentValueSubject<Int, Never>(0)
    let sink = subject.sink { sum.add($0) }
    for value in 0..<count { subject.value = value }
    sink.cancel()
  }
  workload.add(.async, share: 0.1) { count in
    let (stream, input) = AsyncStream.makeStream(
      of: Int.self, bufferingPolicy: .bufferingNewest(1))
    for value in 0..<count { input.yield(value) }
    input.finish()
    for await value in stream { sum.add(value) }
  }
  workload.add(.floor) { count in
    let value = Mutex(0)
    let delivery = Mutex<Void>(())
    let observer: (Int) -> Void = { sum.add($0) }
    for new in 0..<count {
      delivery.withLock { _ in
        value.withLock { $0 = new }
        observer(new)
      }
    }
  }
  return [workload, modifyWorkload()]
}

private func modifyWorkload() -> Workload {
  var workload = Workload("property, modified and observed", events: 2_000_000)
  workload.add(.ours) { count in
    let property = MutableProperty(0)
    property.signal.observeValues { sum.add($0) }
    for _ in 0..<count { property.modify { $0 += 1 } }
  }
  workload.add(.openCombine) { count in
    let subject = CurrentValueSubject<Int, Never>(0)
    let sink = subject.sink { sum.add($0) }
    for _ in 0..<count { subject.value += 1 }
    sink.cancel()
  }
  workload.add(.floor) { count in
    let value = Mutex(0)
    let delivery = Mutex<Void>(())
    let observer: (Int) -> Void = { sum.add($0) }
    for _ in 0..<count {
      delivery.withLock { _ in
        observer(
          value.withLock { value in
            value += 1
            return value
          })
      }
    }
  }
  return workload
}
