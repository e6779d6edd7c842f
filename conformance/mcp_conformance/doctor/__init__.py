"""Why a server does not start."""
