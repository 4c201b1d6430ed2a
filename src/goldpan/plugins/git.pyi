from goldpan.git.clone import promisor as promisor
from goldpan.git.commits import (
    Commit as Commit,
)
from goldpan.git.commits import (
    cloned_repositories as cloned_repositories,
)
from goldpan.git.commits import (
    find_commits as find_commits,
)
from goldpan.git.objects import Object as Object
from goldpan.git.objects import Objects as Objects
from goldpan.git.prefetch import prefetch as prefetch
from goldpan.git.texts import Encoding as Encoding
from goldpan.git.texts import encodings as encodings
from goldpan.git.texts import is_pointer as is_pointer
from goldpan.git.trees import TreeFile as TreeFile
