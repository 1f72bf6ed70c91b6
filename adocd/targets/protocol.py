"""The admin protocol's versions; apart from the client, so that `adocd exec` need not import that."""

#: Major versions of agents/admin-api.yaml that adocd speaks.
MAJOR_VERSIONS = (1,)
