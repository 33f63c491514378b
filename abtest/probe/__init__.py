"""What runs inside the sandbox: standard library only, Python 3.8 or newer, nothing else of abtest.

The probe drives the engine, times it, and collects from every worker process the proof of what code ran.
It writes its findings into one folder and judges nothing that it cannot know: that is the caller's part.
"""
