import BeaconMachines
import Essentials
import Foundation
import Testing

@Suite("position calibration")
struct PositionCalibrationTests {
  @Test(
    "the calibration learns exponent, offsets and spread from a walk",
    arguments: 0..<10 as Range<UInt64>)
  func walk(seed: UInt64) {
    var hall = SyntheticHall(seed: seed)
    let windows = hall.walk(seconds: 600, noise: 3)
    let learned = PositionCalibration(learning: windows, on: SyntheticHall.plan)
    #expect(
      abs(learned.exponent - SyntheticHall.exponent) < 0.15, "seed \(seed): \(learned.exponent)")
    for (receiver, offset) in zip(learned.receivers, SyntheticHall.offsets) {
      #expect(abs(receiver.offset - offset) < 1.5, "seed \(seed): \(receiver.offset), \(offset)")
      #expect((2.3...3.7).contains(receiver.spread), "seed \(seed): \(receiver.spread)")
      #expect(receiver.missRate < 0.01 && receiver.sampleCount == 600)
    }
  }

  @Test("one receiver's outliers move nothing by more than a decibel")
  func outliers() {
    var hall = SyntheticHall(seed: 1)
    var windows = hall.walk(seconds: 600, noise: 3)
    for index in stride(from: 0, to: 600, by: 20) { windows[index].heard[2].rssi -= 40 }
    let learned = PositionCalibration(learning: windows, on: SyntheticHall.plan)
    #expect(abs(learned.receivers[2].offset - SyntheticHall.offsets[2]) < 1.5)
  }

  @Test(
    "a calibration without truth is a guess; a receiver that heard nothing gets the mean offset")
  func little() {
    var hall = SyntheticHall(seed: 2)
    var windows = hall.walk(seconds: 100, noise: 2)
    for index in windows.indices { windows[index].heard.removeLast() }
    let learned = PositionCalibration(learning: windows, on: SyntheticHall.plan)
    #expect((-64 ... -54).contains(learned.receivers[5].offset))
    #expect(learned.receivers[5].missRate > 0.98)
    for index in windows.indices { windows[index].truth = nil }
    let guess = PositionCalibration(learning: windows, on: SyntheticHall.plan)
    #expect(guess == PositionCalibration(plan: SyntheticHall.plan))
  }

  @Test(
    "receivers that hear each other's beacons learn their offsets",
    arguments: 0..<20 as Range<UInt64>)
  func mutual(seed: UInt64) throws {
    var hall = SyntheticHall(seed: seed)
    let plan = SyntheticHall.plan
    let sending = (0..<6).map { _ in 3 * hall.normal() }
    var links: [ReceiverLink] = []
    for from in 0..<6 {
      for to in 0..<6 where from != to {
        let distance = plan.receivers[from].position.distance(to: plan.receivers[to].position)
        let level =
          SyntheticHall.offsets[to] + sending[from]
          - 10 * SyntheticHall.exponent * log10(distance)
        links.append(ReceiverLink(from: from, to: to, rssi: level + hall.normal()))
      }
    }
    let learned = try #require(PositionCalibration(links: links, on: plan))
    // The common offset is the followed beacon's power, which links can't reveal.
    let differences = zip(learned.receivers, SyntheticHall.offsets).map { $0.offset - $1 }
    let mean = differences.reduce(0, +) / 6
    for difference in differences {
      #expect(abs(difference - mean) < 2, "seed \(seed): \(differences)")
    }
    #expect(
      abs(learned.exponent - SyntheticHall.exponent) < 0.7, "seed \(seed): \(learned.exponent)")
    #expect(PositionCalibration(links: Array(links.prefix(11)), on: plan) == nil)
  }
}
