/// How much a program may use of a hub's Multicast DNS.
package struct BonjourAdmission: Hashable, Sendable {
  /// The maximum number of its services, records and queries; nil for the usual one.
  package var requestCountMax: Int?

  package init(requestCountMax: Int? = nil) { self.requestCountMax = requestCountMax }
}
