"""Wait until whoever started this program is gone, however that ended; then stop a server and remove its folder."""

import shutil
import subprocess
import sys

if __name__ == "__main__":
    # The other end of this pipe is closed when the last process that holds it ends, a killed one too.
    sys.stdin.read()
    folder, user, *stop = sys.argv[1:]
    subprocess.run(stop, user=user or None, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    shutil.rmtree(folder, ignore_errors=True)
