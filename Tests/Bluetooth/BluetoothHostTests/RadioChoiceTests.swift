@testable import BluetoothHost
import BluetoothMachines
import BluetoothWire
import Testing

@Suite("The address that a host chooses")
struct HostAddressTests {
  @Test("the host's address is a random static one")
  func valid() throws {
    let address = try HostConfiguration.address(parsing: "c4:12:34:56:78:9a")
    #expect(address == DeviceAddress(bits: 0xC412_3456_789A, kind: .random))
  }

  @Test(
    "the host's address can't be another kind; one sentence gives the reason",
    arguments: [
      ("", "six bytes"), ("C4:12:34", "six bytes"), ("hello", "six bytes"),
      ("44:12:34:56:78:9A", "first digit"), ("04:12:34:56:78:9A", "first digit"),
      ("C0:00:00:00:00:00", "all bits"), ("FF:FF:FF:FF:FF:FF", "all bits"),
    ])
  func invalid(_ text: String, _ reason: String) {
    let error = #expect(throws: HostAddressError.self) {
      try HostConfiguration.address(parsing: text)
    }
    #expect(error?.description.contains(reason) == true, "\(String(describing: error))")
  }

  @Test("the host's address is private on real controllers unless another kind is requested")
  func choice() throws {
    var configuration = HostConfiguration()
    for (name, radio, isPrivate) in [
      (nil, RadioChoice.hci(0), true), (nil, .standard, false), ("private", .standard, true),
      ("controller", .hci(0), false), ("C4:12:34:56:78:9A", .hci(0), false),
    ] as [(String?, RadioChoice, Bool)] {
      try configuration.chooseAddress(named: name, on: radio)
      #expect(configuration.usesPrivateAddress == isPrivate)
      #expect((configuration.address != nil) == (name?.first == "C"))
    }
    let error = #expect(throws: HostAddressError.self) {
      try configuration.chooseAddress(named: "Private", on: .standard)
    }
    #expect(error?.text == "Private" && error?.reason.contains("six bytes") == true)
  }

  @Test("a host refuses an AMBIT_ADDRESS that makes no sense, with a sentence")
  func environment() async {
    let host = BluetoothHost.make(
      radio: "sim:empty", address: "nonsense", capturePath: nil, logger: RecordingLog().logger)
    var problem: String?
    for await next in host.problems() {
      problem = next
      if next != nil { break }
    }
    #expect(problem?.hasPrefix("AMBIT_ADDRESS: \"nonsense\" is no address") == true)
    await host.close()
    // A closed host still has its last problem, and reports no other.
    var last: [String?] = []
    for await next in host.problems() { last.append(next) }
    #expect(last == [problem])
  }
}

@Suite("Names of radios")
struct RadioChoiceTests {
  @Test(
    "a good name is read and written again",
    arguments: [
      ("sim", .standard, "sim"),
      ("sim:", .standard, "sim"),
      ("sim:empty", .simulated(.init(isPopulated: false)), "sim:empty"),
      ("sim:seed=7", .simulated(.init(seed: 7)), "sim:seed=7"),
      (
        "sim:a/strap.json", .simulated(.init(isPopulated: false, files: ["a/strap.json"])),
        "sim:a/strap.json"
      ),
      (
        "sim:b.json,home,seed=2,c.json", .simulated(.init(seed: 2, files: ["b.json", "c.json"])),
        "sim:home,b.json,c.json,seed=2"
      ),
      ("sim:lossless", .simulated(.init(isLossless: true)), "sim:lossless"),
      (
        "sim:seed=7,lossless,a.json",
        .simulated(.init(isPopulated: false, seed: 7, isLossless: true, files: ["a.json"])),
        "sim:a.json,lossless,seed=7"
      ),
      ("sim:seed=7,empty", .simulated(.init(isPopulated: false, seed: 7)), "sim:empty,seed=7"),
      ("tcp:localhost:9100", .tcp(host: "localhost", port: 9100), "tcp:localhost:9100"),
      ("tcp:[::1]:1", .tcp(host: "::1", port: 1), "tcp:[::1]:1"),
      ("unix:/tmp/radio", .unix(path: "/tmp/radio"), "unix:/tmp/radio"),
      ("unix:a:b", .unix(path: "a:b"), "unix:a:b"),
      ("uart:/dev/ttyUSB0", .uart(.init(path: "/dev/ttyUSB0")), "uart:/dev/ttyUSB0@115200"),
      (
        "uart:/dev/ttyACM1@1000000,flow",
        .uart(.init(path: "/dev/ttyACM1", baudRate: 1_000_000, usesFlowControl: true)),
        "uart:/dev/ttyACM1@1000000,flow"
      ),
      ("uart:/dev/a@b@9600", .uart(.init(path: "/dev/a@b", baudRate: 9600)), "uart:/dev/a@b@9600"),
      ("hci0", .hci(0), "hci0"),
      ("hci12", .hci(12), "hci12"),
    ] as [(String, RadioChoice, String)])
  func goodNames(text: String, choice: RadioChoice, canonical: String) throws {
    let parsed = try RadioChoice(parsing: text)
    #expect(parsed == choice)
    #expect(parsed.description == canonical)
    #expect(try RadioChoice(parsing: canonical) == choice)
  }

  @Test(
    "a bad name is turned down in a sentence that names it and the fault",
    arguments: [
      ("", "it is empty"),
      ("usb", "unknown kind of radio"),
      ("SIM", "unknown kind of radio"),
      (":9100", "it is empty"),
      ("sim:full", "takes \"empty\", \"home\", \"lossless\", \"seed=NUMBER\" and FILE.json"),
      ("sim:seed=", "whole number"),
      ("sim:seed=-1", "whole number"),
      ("sim:seed=99999999999999999999", "whole number"),
      ("sim:empty,", "takes \"empty\""),
      ("tcp", "colon and an address"),
      ("tcp:", "port is missing"),
      ("tcp:localhost", "port is missing"),
      ("tcp::9100", "host is missing"),
      ("tcp:local host:9100", "host is missing"),
      ("tcp:localhost:", "from 1 to 65535"),
      ("tcp:localhost:0", "from 1 to 65535"),
      ("tcp:localhost:65536", "from 1 to 65535"),
      ("tcp:localhost:+1", "from 1 to 65535"),
      ("tcp:localhost:9100x", "from 1 to 65535"),
      ("tcp:::1:9100", "brackets"),
      ("unix", "colon and an address"),
      ("unix:", "path is missing"),
      ("unix:/" + String(repeating: "x", count: 107), "at most 107 bytes"),
      ("uart:", "device is missing"),
      ("uart:@115200", "device is missing"),
      ("uart:/dev/ttyS0@115201", "not one of the speeds"),
      ("uart:/dev/ttyS0@", "not one of the speeds"),
      ("uart:/dev/ttyS0,parity", "\"flow\", not \"parity\""),
      ("hci", "followed by a number"),
      ("hci-1", "followed by a number"),
      ("hci70000", "followed by a number"),
      ("hci0:1", "unknown kind of radio"),
      ("bluez", "built with the trait BlueZ"),
      ("bluez:hci1", "built with the trait BlueZ"),
    ])
  func badNames(text: String, fault: String) {
    do {
      let choice = try RadioChoice(parsing: text)
      Issue.record("\"\(text)\" was read as \(choice)")
    } catch {
      #expect(error.description.contains(fault), "\(error)")
      #expect(error.description.contains("\"\(text)\" names no radio"), "\(error)")
      #expect(error.description.hasSuffix("and hci0; \"none\" is no radio."), "\(error)")
    }
  }

  @Test("the name none is no mistake and no radio, and a program without one has a problem")
  func none() async throws {
    let error = #expect(throws: RadioChoiceError.self) { try RadioSelection.select(named: "none") }
    #expect(error?.isNoRadio == true)
    let mistake = #expect(throws: RadioChoiceError.self) { try RadioChoice(parsing: "None") }
    #expect(mistake?.isNoRadio == false)
    let host = BluetoothHost.make(radio: "none", capturePath: nil, logger: RecordingLog().logger)
    for await problem in host.problems() {
      guard let problem else { continue }
      #expect(problem.contains("no radio is used"))
      break
    }
  }
}
