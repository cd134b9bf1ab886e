import Bonjour
import BonjourReactive
import Reactive

/// The names of all lamps, in order, as they come and go.
func lampNames() -> SignalProducer<[String], NetServiceError> {
  NetServiceBrowser.reactive.services(ofType: "_lamp._tcp.")
    .map { services in services.map(\.name).sorted() }
    .skipRepeats()
}
