// The types of the official SDK name one of the DOM's, which has no place in these tests.
type HeadersInit = ConstructorParameters<typeof Headers>[0];
