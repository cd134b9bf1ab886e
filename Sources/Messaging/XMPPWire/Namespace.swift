#if Messaging
  /// The namespaces of XMPP that this module knows, by the documents that define them.
  package enum Namespace {
    package static let xml = "http://www.w3.org/XML/1998/namespace"
    // RFC 6120.
    package static let stream = "http://etherx.jabber.org/streams"
    package static let client = "jabber:client"
    package static let tls = "urn:ietf:params:xml:ns:xmpp-tls"
    package static let sasl = "urn:ietf:params:xml:ns:xmpp-sasl"
    package static let bind = "urn:ietf:params:xml:ns:xmpp-bind"
    package static let streamErrors = "urn:ietf:params:xml:ns:xmpp-streams"
    package static let stanzaErrors = "urn:ietf:params:xml:ns:xmpp-stanzas"
    package static let session = "urn:ietf:params:xml:ns:xmpp-session"
    // RFC 6121.
    package static let roster = "jabber:iq:roster"
    /// Features of a stream: versions of the roster, and approval of requests to come.
    package static let rosterVersions = "urn:xmpp:features:rosterver"
    package static let preApproval = "urn:xmpp:features:pre-approval"
    // Extensions (XEPs), by their numbers.
    /// XEP-0114: the content namespace of a component's stream.
    package static let component = "jabber:component:accept"
    /// XEP-0004.
    package static let forms = "jabber:x:data"
    /// XEP-0030.
    package static let discoInfo = "http://jabber.org/protocol/disco#info"
    package static let discoItems = "http://jabber.org/protocol/disco#items"
    /// XEP-0045: a join, what a room tells about occupants, and its configuration by an owner.
    package static let room = "http://jabber.org/protocol/muc"
    package static let roomUser = "http://jabber.org/protocol/muc#user"
    package static let roomOwner = "http://jabber.org/protocol/muc#owner"
    /// XEP-0059.
    package static let resultSets = "http://jabber.org/protocol/rsm"
    /// XEP-0060.
    package static let pubSub = "http://jabber.org/protocol/pubsub"
    package static let pubSubEvent = "http://jabber.org/protocol/pubsub#event"
    package static let pubSubOptions = "http://jabber.org/protocol/pubsub#publish-options"
    /// XEP-0066, in messages.
    package static let outOfBand = "jabber:x:oob"
    /// XEP-0085.
    package static let chatStates = "http://jabber.org/protocol/chatstates"
    /// XEP-0103, as XEP-0447 uses it.
    package static let urlData = "http://jabber.org/protocol/url-data"
    /// XEP-0115.
    package static let capabilities = "http://jabber.org/protocol/caps"
    /// XEP-0184.
    package static let receipts = "urn:xmpp:receipts"
    /// XEP-0191.
    package static let blocking = "urn:xmpp:blocking"
    /// XEP-0198.
    package static let streamManagement = "urn:xmpp:sm:3"
    /// XEP-0199.
    package static let ping = "urn:xmpp:ping"
    /// XEP-0203.
    package static let delay = "urn:xmpp:delay"
    /// XEP-0231.
    package static let bitsOfBinary = "urn:xmpp:bob"
    /// XEP-0249.
    package static let directInvitation = "jabber:x:conference"
    /// XEP-0264.
    package static let thumbnails = "urn:xmpp:thumbs:1"
    /// XEP-0280.
    package static let carbons = "urn:xmpp:carbons:2"
    /// XEP-0297.
    package static let forward = "urn:xmpp:forward:0"
    /// XEP-0300.
    package static let hashes = "urn:xmpp:hashes:2"
    /// XEP-0308.
    package static let correction = "urn:xmpp:message-correct:0"
    /// XEP-0313.
    package static let archive = "urn:xmpp:mam:2"
    /// XEP-0313, the form's fields of version 1.1: `before-id`, `after-id`, metadata.
    package static let archiveExtended = "urn:xmpp:mam:2#extended"
    /// XEP-0333.
    package static let chatMarkers = "urn:xmpp:chat-markers:0"
    /// XEP-0334.
    package static let hints = "urn:xmpp:hints"
    /// XEP-0352.
    package static let clientState = "urn:xmpp:csi:0"
    /// XEP-0359.
    package static let stanzaIDs = "urn:xmpp:sid:0"
    /// XEP-0357.
    package static let push = "urn:xmpp:push:0"
    /// XEP-0363.
    package static let upload = "urn:xmpp:http:upload:0"
    /// XEP-0380.
    package static let encryption = "urn:xmpp:eme:0"
    /// XEP-0386.
    package static let inlineBinding = "urn:xmpp:bind:0"
    /// XEP-0388.
    package static let extensibleSASL = "urn:xmpp:sasl:2"
    /// XEP-0402.
    package static let bookmarks = "urn:xmpp:bookmarks:1"
    /// XEP-0421.
    package static let occupantID = "urn:xmpp:occupant-id:0"
    /// XEP-0424.
    package static let retraction = "urn:xmpp:message-retract:1"
    /// XEP-0428.
    package static let fallback = "urn:xmpp:fallback:0"
    /// XEP-0440.
    package static let channelBindings = "urn:xmpp:sasl-cb:0"
    /// XEP-0444.
    package static let reactions = "urn:xmpp:reactions:0"
    /// XEP-0446.
    package static let fileMetadata = "urn:xmpp:file:metadata:0"
    /// XEP-0447.
    package static let fileSharing = "urn:xmpp:sfs:0"
    /// XEP-0461.
    package static let replies = "urn:xmpp:reply:0"
    /// XEP-0484.
    package static let tokens = "urn:xmpp:fast:0"
    /// This project's own: the sequence of an installation's messages of a conversation.
    package static let order = "urn:x-ambit:order:1"
  }
#endif
