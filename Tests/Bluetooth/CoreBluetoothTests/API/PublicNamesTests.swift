import Foundation
import Testing

/// The public declarations of the module's sources, and what Apple's framework has.
@Suite("The module's public names")
struct PublicNamesTests {
  /// Types and type aliases of Apple's framework.
  static let types: Set = [
    "CBManager", "CBCentralManager", "CBPeripheralManager", "CBPeer", "CBPeripheral", "CBCentral",
    "CBAttribute", "CBService", "CBMutableService", "CBCharacteristic", "CBMutableCharacteristic",
    "CBDescriptor", "CBMutableDescriptor", "CBATTRequest", "CBL2CAPChannel", "CBUUID",
    "CBChannelSoundingSessionConfiguration", "CBChannelSoundingProcedureResults",
    "CBCentralManagerDelegate", "CBPeripheralDelegate", "CBPeripheralManagerDelegate",
    "CBL2CAPPSM", "CBManagerState", "CBCentralManagerState", "CBPeripheralManagerState",
    "CBManagerAuthorization", "CBPeripheralManagerAuthorizationStatus", "CBPeripheralState",
    "CBCharacteristicWriteType", "CBPeripheralManagerConnectionLatency", "CBConnectionEvent",
    "CBCharacteristicProperties", "CBAttributePermissions", "CBConnectionEventMatchingOption",
    "CBError", "CBATTError", "CBErrorDomain", "CBATTErrorDomain", "dispatch_queue_t",
  ]
  /// What the names of Apple's string constants begin with.
  static let constantPrefixes = [
    "CBAdvertisementData", "CBCentralManagerOption", "CBCentralManagerScanOption",
    "CBConnectPeripheralOption", "CBCentralManagerRestoredState", "CBPeripheralManagerOption",
    "CBPeripheralManagerRestoredState", "CBUUIDCharacteristic", "CBUUIDClientCharacteristic",
    "CBUUIDServerCharacteristic", "CBUUIDL2CAPPSM",
  ]

  private static let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Sources/Bluetooth/CoreBluetooth")

  /// The names declared public at the outermost level of a source text.
  static func publicNames(_ source: String) -> [String] {
    let pattern =
      #/^(?:@\S+(?:\(.*\))? )*(?:public|open) (?:final |indirect )?(?:class|struct|enum|protocol|actor|typealias|func|let|var) (\w+)/#
      .anchorsMatchLineEndings()
    return source.matches(of: pattern).map { String($0.output.1) }
  }

  @Test("only Apple's names are public")
  func names() throws {
    let files = try #require(
      FileManager.default.enumerator(at: Self.root, includingPropertiesForKeys: nil))
    var names: [String] = []
    for case let file as URL in files where file.pathExtension == "swift" {
      names += Self.publicNames(try String(contentsOf: file, encoding: .utf8))
    }
    let foreign = names.filter { name in
      !Self.types.contains(name) && !Self.constantPrefixes.contains { name.hasPrefix($0) }
    }
    #expect(foreign == [])
    #expect(Self.types.subtracting(names) == [])
  }

  @Test("a name that is not Apple's is found")
  func finder() {
    let source = """
      public enum PeerIdentifier {
        public static let inner = 1
      }
      package struct Hidden {}
      @frozen public struct Second {}
      open class Third {}
      """
    #expect(Self.publicNames(source) == ["PeerIdentifier", "Second", "Third"])
  }
}
