import BluetoothInterface
import EventLoop
import Foundation
import Logging
import SimulatedRadio
import Simulation
import Testing

@testable import BluetoothHost

@Suite("Which radio is used")
struct RadioSelectionTests {
  /// A folder as /sys/class/bluetooth.
  private static func folder(_ names: [String]) throws -> String {
    let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
    for name in names {
      try FileManager.default.createDirectory(
        at: folder.appending(path: name), withIntermediateDirectories: true)
    }
    return folder.path
  }

  @Test("controllers are found by number, without the links that Linux lists beside them")
  func listing() throws {
    let folder = try Self.folder(["hci10", "hci2", "hci2:64", "hci0", "mesh0"])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    #expect(RadioChoice.controllerIndexes(in: folder) == [0, 2, 10])
    #expect(RadioChoice.controllerIndexes(in: folder + "/none") == [])
  }

  @Test("the simulated air loses packets, unless it is lossless")
  func lossless() throws {
    let (lossy, lossless) = try (
      RadioChoice.SimulatedAir().makeWorld().radio,
      RadioChoice.SimulatedAir(isLossless: true).makeWorld().radio
    )
    #expect(lossy.advertisementLoss > 0 && lossy.packetLoss > 0)
    #expect(lossless.advertisementLoss == 0 && lossless.packetLoss == 0)
    #expect(lossless.sensitivityDBm == lossy.sensitivityDBm)
  }

  private static func select(
    _ controllers: [UInt16], hasSimulator: Bool = true, opens: Set<UInt16> = []
  ) -> RadioSelection {
    RadioSelection.selectDefault(controllers: controllers, hasSimulator: hasSimulator) {
      (index) throws(HostError) in
      if !opens.contains(index) { throw UserChannel.explain(.init(number: 16), index: index) }
    }
  }

  @Test("the first controller that may be opened is used")
  func detected() {
    let selection = Self.select([0, 2, 3], opens: [2, 3])
    #expect(selection == RadioSelection(.hci(2), .detected))
    #expect(!selection.isSimulatedByDefault)
  }

  @Test("a radio without a controller is simulated, with the reason")
  func noController() {
    let selection = Self.select([])
    #expect(selection.radio == .standard)
    #expect(selection.origin == .fallback("This machine has no Bluetooth controller."))
    #expect(selection.isSimulatedByDefault)
  }

  @Test("the reason is that of the first controller when none may be opened")
  func inUse() {
    let selection = Self.select([1, 2])
    #expect(selection.radio == .standard)
    guard case .fallback(let reason) = selection.origin else {
      Issue.record("\(selection)")
      return
    }
    #expect(reason.hasPrefix("hci1 is in use"))
  }

  @Test("a program without the simulated radio waits for a controller")
  func noSimulator() {
    #expect(Self.select([], hasSimulator: false).radio == .hci(0))
    #expect(Self.select([1], hasSimulator: false).radio == .hci(1))
    #expect(!Self.select([], hasSimulator: false).isSimulatedByDefault)
  }

  @Test("a radio that is named is used, also the simulated one, without a word")
  func named() throws {
    let selection = try RadioSelection.select(named: "sim")
    #expect(selection.origin == .named)
    #expect(!selection.isSimulatedByDefault)
    let error = #expect(throws: RadioChoiceError.self) {
      try RadioSelection.select(named: "bogus")
    }
    #expect(error?.text == "bogus" && error?.reason == "unknown kind of radio")
  }

  @Test("a simulated radio that was not asked for is logged once, a named one is not")
  func logged() async {
    SimulatedRadio.install()
    let (unnamed, named) = (RecordingLog(), RecordingLog())
    let selected = BluetoothHost.make(radio: nil, capturePath: nil, logger: unnamed.logger)
    await selected.close()
    if selected.selection.isSimulatedByDefault {
      #expect(unnamed.entries.map(\.level) == [.notice])
      #expect(unnamed.entries.first?.message.contains("simulated") == true)
    }
    await BluetoothHost.make(radio: "sim", capturePath: nil, logger: named.logger).close()
    #expect(named.entries == [])
  }
}
