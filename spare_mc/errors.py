"""The one exception a user meets: bad input, told in one line."""


class UserError(ValueError):
    """Something the user gave cannot be used.

    The message is one line that names the key or file, the value given, and what is allowed. The command line
    prints it and exits with status 2; from Python it is an ordinary ``ValueError``.
    """
