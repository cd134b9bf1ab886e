import BluetoothHost
import BluetoothMachines
import Testing

@Suite("The choice of pairings")
struct PairingChoiceTests {
  @Test("words choose the policy, the modes and the replacement of bonds")
  func words() throws {
    var configuration = HostConfiguration()
    try configuration.choosePairing(named: nil)
    #expect(configuration == HostConfiguration())
    #expect(configuration.bondReplacement == .ask && !configuration.acceptsDebugKeys)
    try configuration.choosePairing(
      named: "ask,authenticated,secure-connections,replace=never,debug-keys")
    #expect(configuration.pairingPolicy == .ask && configuration.requiresAuthentication)
    #expect(configuration.requiresSecureConnections && configuration.acceptsDebugKeys)
    #expect(configuration.bondReplacement == .never)
    try configuration.choosePairing(named: "auto,replace=always")
    #expect(configuration.pairingPolicy == .automatic && configuration.bondReplacement == .always)
    try configuration.choosePairing(named: "never,replace=ask")
    #expect(configuration.pairingPolicy == .never && configuration.bondReplacement == .ask)
  }

  @Test(
    "another word is an error that names it, and changes nothing",
    arguments: ["", "Ask", "ask,", "ask, authenticated", "replace", "replace=", "never,x"])
  func unknown(_ text: String) throws {
    var configuration = HostConfiguration()
    let error = #expect(throws: PairingChoiceError.self) {
      try configuration.choosePairing(named: text)
    }
    let word = try #require(text.split(separator: ",", omittingEmptySubsequences: false).last)
    #expect(error?.word == String(word))
    #expect(error?.description.hasPrefix("\"\(word)\" chooses no pairings") == true)
    #expect(configuration == HostConfiguration())
  }
}
