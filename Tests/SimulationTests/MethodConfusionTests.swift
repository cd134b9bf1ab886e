import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Simulation
import Testing

/// An attacker between two hosts compares a number with one and has it entered as a passkey at the
/// other (CVE-2020-10134). The protocol can't distinguish this from two honest pairings, so a host
/// can only show which method it uses, and take no answer for another's.
@Suite("Method confusion, on the air")
struct MethodConfusionTests {
  /// Both halves of the attack, as far as their questions.
  private struct Middle {
    let compares: PairingScene
    let enters: PairingScene
    let number: UInt32
    let comparison: PairingPromptID
    let entry: PairingPromptID

    init(seed: UInt64) throws {
      compares = try PairingScene(
        .central, seed: seed, victimIO: .displayYesNo, attackerIO: .displayYesNo)
      compares.pair()
      var compared: (UInt32, PairingPromptID)?
      for case (.compareNumber(let number), let id) in compares.prompts { compared = (number, id) }
      (number, comparison) = try #require(compared)
      // It claims to have only a keyboard, so that it may choose the passkey, too.
      enters = try PairingScene(
        .peripheral, seed: seed + 1, victimIO: .keyboardOnly, attackerIO: .keyboardOnly)
      enters.attacker.answer = { [number] _ in .passkey(number) }
      enters.pair()
      var asked: PairingPromptID?
      for case (.enterPasskey, let id) in enters.prompts { asked = id }
      entry = try #require(asked)
    }

    func answers(comparison: PairingAnswer, entry: PairingAnswer) {
      compares.victim.send(.answerPairing(self.comparison, comparison))
      enters.victim.send(.answerPairing(self.entry, entry))
      compares.world.run(for: .seconds(5))
      enters.world.run(for: .seconds(5))
    }
  }

  @Test("a person who rejects both prompts ends both pairings, and the attacker wins nothing")
  func careful() throws {
    let middle = try Middle(seed: 30)
    #expect(middle.compares.prompts.count == 1 && middle.enters.prompts.count == 1)
    middle.answers(comparison: .reject, entry: .reject)
    #expect(middle.compares.ends == [.pairingFailed(.numericComparisonFailed)])
    #expect(middle.enters.ends == [.pairingFailed(.passkeyEntryFailed)])
    middle.compares.expectNothingWon()
    middle.enters.expectNothingWon()
  }

  @Test("an answer to one of the two prompts is refused by the other")
  func answersOfOtherMethods() throws {
    let middle = try Middle(seed: 40)
    middle.answers(comparison: .passkey(middle.number), entry: .accept)
    #expect(middle.compares.ends == [.pairingFailed(.numericComparisonFailed)])
    #expect(middle.enters.ends == [.pairingFailed(.passkeyEntryFailed)])
    middle.compares.expectNothingWon()
    middle.enters.expectNothingWon()
  }

  @Test("a passkey other than the attacker's doesn't let the attacker in")
  func otherPasskey() throws {
    let middle = try Middle(seed: 50)
    middle.answers(comparison: .reject, entry: .passkey((middle.number + 1) % 1_000_000))
    #expect(middle.enters.ends == [.pairingFailed(.confirmValueFailed)])
    middle.enters.expectNothingWon()
  }

  /// The attack itself. It shows that the other tests' attacker would win if it were let, and what only
  /// the words of the question can prevent.
  @Test("a person who types the number that another device asked to compare lets its peer in")
  func confusedPerson() throws {
    let middle = try Middle(seed: 60)
    middle.answers(comparison: .accept, entry: .passkey(middle.number))
    #expect(middle.compares.ends == [nil] && middle.enters.ends == [nil])
    #expect(middle.compares.attacker.isEncrypted && middle.enters.attacker.isEncrypted)
  }

  @Test(
    "a host without a user interface is not authenticated, whatever the peer claims",
    arguments: [SMPIOCapability.keyboardDisplay, .displayYesNo, .keyboardOnly, .displayOnly])
  func confusedHost(_ claimed: SMPIOCapability) throws {
    for role: LinkInfo.Role in [.central, .peripheral] {
      let scene = try PairingScene(role, seed: 70, attackerIO: claimed)
      scene.attacker.change = { pdu in
        switch pdu {
        case .pairingRequest(var features):
          features.authenticationRequirements.insert(.mitmProtection)
          return [SMPPDU.pairingRequest(features).bytes]
        case .pairingResponse(var features):
          features.authenticationRequirements.insert(.mitmProtection)
          return [SMPPDU.pairingResponse(features).bytes]
        default: return [pdu.bytes]
        }
      }
      scene.pair()
      #expect(scene.victim.bonds.allSatisfy { !$0.isAuthenticated })
      #expect(scene.victim.snapshot.links.allSatisfy { $0.encryption?.isAuthenticated != true })
    }
  }
}
