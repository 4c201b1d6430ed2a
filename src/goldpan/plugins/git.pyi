from goldpan.git.clone import prefetch as prefetch
from goldpan.git.clone import promisor as promisor
from goldpan.git.objects import (
    Encoding as Encoding,
)
from goldpan.git.objects import (
    Object as Object,
)
from goldpan.git.objects import (
    Objects as Objects,
)
from goldpan.git.objects import (
    encodings as encodings,
)
from goldpan.git.objects import (
    is_pointer as is_pointer,
)
from goldpan.git.refs import (
    Commit as Commit,
)
from goldpan.git.refs import (
    cloned_repositories as cloned_repositories,
)
from goldpan.git.refs import (
    find_commits as find_commits,
)
from goldpan.git.trees import TreeFile as TreeFile
